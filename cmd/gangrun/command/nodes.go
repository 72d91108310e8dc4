package command

import (
	"fmt"
	"slices"
	"strings"
)

// parseNodes reads how many nodes take part: N, MIN:MAX, or the sizes that there may be, in any order: 2,4,8.
func (o *options) parseNodes(s string) error {
	spec := &o.spec
	if strings.Contains(s, ",") {
		sizes, err := parseSizes(s)
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
	if err := number(&spec.MinNodes, 1, mostNodes)(low); err != nil {
		return fmt.Errorf("want N, MIN:MAX or sizes such as 2,4,8: %w", err)
	}
	if err := number(&spec.MaxNodes, spec.MinNodes, mostNodes)(high); err != nil {
		return fmt.Errorf("want N, MIN:MAX or sizes such as 2,4,8: %w", err)
	}
	spec.Sizes, o.nodes = nil, s
	return nil
}

// The most nodes of a job, and the most sizes that it may have.
const (
	mostNodes = 4096
	mostSizes = 64
)

// parseSizes reads sizes. Their order says nothing; one that is there twice says that another was meant.
func parseSizes(s string) (sizes []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		var size int
		switch err := number(&size, 1, mostNodes)(part); {
		case strings.Contains(part, ":"):
			return nil, fmt.Errorf("%q is a range: want either MIN:MAX or sizes such as 2,4,8", part)
		case err != nil:
			return nil, fmt.Errorf("want sizes such as 2,4,8, each from 1 to %d: %w", mostNodes, err)
		case slices.Contains(sizes, size):
			return nil, fmt.Errorf("the size %d is there twice", size)
		}
		sizes = append(sizes, size)
	}
	if len(sizes) > mostSizes {
		return nil, fmt.Errorf("%d sizes, at most %d", len(sizes), mostSizes)
	}
	slices.Sort(sizes)
	return sizes, nil
}
