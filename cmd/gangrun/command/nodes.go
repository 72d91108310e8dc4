package command

import (
	"fmt"
	"strings"

	"github.com/gangrun/gangrun/rendezvous"
)

// parseNodes reads how many nodes take part: N, MIN:MAX, or the sizes that there may be, in any order: 2,4,8.
func (o *options) parseNodes(s string) error {
	spec := &o.spec
	if strings.Contains(s, ",") {
		sizes, err := rendezvous.ParseSizes(s)
		if err != nil {
			return err
		}
		spec.Sizes, spec.MinNodes, spec.MaxNodes = sizes, sizes[0], sizes[len(sizes)-1]
		o.nodes = s
		return nil
	}
	low, high, elastic := strings.Cut(s, ":")
	if !elastic {
		high = low
	}
	var least, most int
	if number(&least, 1, mostNodes)(low) != nil || number(&most, 1, mostNodes)(high) != nil {
		return fmt.Errorf("want N, MIN:MAX or sizes such as 2,4,8, each from 1 to %d", mostNodes)
	}
	if least > most {
		return fmt.Errorf("the least, %d, is above the most, %d: want MIN:MAX", least, most)
	}
	spec.Sizes, spec.MinNodes, spec.MaxNodes, o.nodes = nil, least, most, s
	return nil
}

// mostNodes is the most nodes of a job.
const mostNodes = 4096
