package flight

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// ParsePickle reads what the recorder says in a pickle: what torch's watchdog writes into files, and what its worker
// server answers with stacks. Nothing of it is executed.
func ParsePickle(data []byte) (Record, error) {
	r := Record{Text: data, Pickled: true, Groups: map[string]Group{}}
	shape, err := file.PickleShape(bytes.NewReader(data), int64(len(data)), mostCalls)
	if err != nil {
		return r, fmt.Errorf("torch's flight recorder: %w", err)
	}
	if shape.Kind != file.Dict {
		return r, fmt.Errorf("torch's flight recorder: no dictionary")
	}
	var configs []config
	each(shape.Get("pg_config"), func(_ string, c *file.Shape) {
		configs = append(configs, config{text(c, "name"), text(c, "desc"), text(c, "ranks")})
	})
	statuses := map[string]status{}
	each(shape.Get("pg_status"), func(id string, s *file.Shape) {
		statuses[id] = status{whole(s, "last_enqueued_collective"), whole(s, "last_completed_collective")}
	})
	var entries []entry
	if list := shape.Get("entries"); list != nil {
		r.Cut = list.Pairs > len(list.Values)
		for _, e := range list.Values {
			if e == nil || len(e.Values) < len(e.Keys) || e.Get("is_p2p") == nil {
				r.Cut = true // beyond the bound
				break
			}
			entries = append(entries, pickled(e))
		}
	}
	r.Groups, r.Calls = assemble(configs, statuses, entries)
	return r, nil
}

func pickled(e *file.Shape) entry {
	out := entry{Call: Call{
		Number: whole(e, "collective_seq_id"), What: text(e, "profiling_name"), At: caller(e.Get("frames")),
		Created: time.Unix(0, whole(e, "time_created_ns")), Pair: whole(e, "is_p2p") == 1, Over: whole(e, "retired") == 1,
		Elements: elements(sizes(e.Get("input_sizes"))),
	}}
	if id := e.Get("pg_id"); id != nil && id.Kind == file.Number {
		out.id = fmt.Sprint(id.Number)
	}
	if group := e.Get("process_group"); group != nil && len(group.Values) == 2 && group.Values[0] != nil && group.Values[1] != nil {
		out.Group, out.desc = group.Values[0].Text, group.Values[1].Text
	}
	return out
}

// sizes are those of tensors; nil where one is not known.
func sizes(list *file.Shape) (all [][]int64) {
	if list == nil || list.Pairs > len(list.Values) {
		return nil
	}
	for _, tensor := range list.Values {
		if tensor == nil || tensor.Kind != file.List || tensor.Pairs > len(tensor.Values) {
			return nil
		}
		var one []int64
		for _, size := range tensor.Values {
			if size == nil || size.Kind != file.Number {
				return nil
			}
			one = append(one, size.Number)
		}
		all = append(all, one)
	}
	return all
}

// caller is the innermost frame that is not torch's own.
func caller(frames *file.Shape) string {
	if frames == nil {
		return ""
	}
	for _, f := range frames.Values {
		if name := text(f, "filename"); name != "" && !strings.Contains(name, "-packages/torch/") {
			return fmt.Sprintf("%s:%d", path.Base(name), whole(f, "line"))
		}
	}
	return ""
}

func each(dict *file.Shape, f func(key string, value *file.Shape)) {
	if dict == nil {
		return
	}
	for i, key := range dict.Keys {
		if i < len(dict.Values) && dict.Values[i] != nil && i < mostGroups {
			f(key, dict.Values[i])
		}
	}
}

func text(dict *file.Shape, key string) string {
	if v := dict.Get(key); v != nil && v.Kind == file.Text {
		return v.Text
	}
	return ""
}

// whole is a whole number; -1 if there is none.
func whole(dict *file.Shape, key string) int64 {
	if v := dict.Get(key); v != nil && v.Kind == file.Number {
		return v.Number
	}
	return -1
}
