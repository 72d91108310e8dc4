package format

import (
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// momentEndings are what some programs put behind the name of a weight for what an optimizer keeps of it.
var momentEndings = []string{"_momentum", "/momentum", ".momentum", "_exp_avg", ".exp_avg", "/adam", "/adam_1"}

// hasMoments reports whether tensors stand beside others of which they are what an optimizer keeps, by their names: conv1_w and
// conv1_w_momentum.
func hasMoments(s *file.Shape) bool {
	tensors, of := map[string]bool{}, []string{}
	for i, key := range s.Keys {
		if v := s.Values[i]; v == nil || v.Kind != file.Tensor {
			continue
		}
		key = strings.TrimSuffix(key, ":0") // of TensorFlow's
		tensors[key] = true
		lower := strings.ToLower(key)
		for _, ending := range momentEndings {
			if strings.HasSuffix(lower, ending) {
				of = append(of, key[:len(key)-len(ending)])
			}
		}
	}
	return slices.ContainsFunc(of, func(key string) bool { return tensors[key] })
}
