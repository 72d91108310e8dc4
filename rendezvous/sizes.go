package rendezvous

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxSizes is how many sizes a job may have.
const maxSizes = 64

// ParseSizes reads sizes such as 2,4,8, in any order. One that is there twice says that another was meant. The error says what
// is not a size.
func ParseSizes(text string) (sizes []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		size, err := strconv.Atoi(part)
		switch {
		case strings.Contains(part, ":"):
			return nil, fmt.Errorf("%q is a range: want either MIN:MAX or sizes such as 2,4,8", part)
		case err != nil || size < 1 || size > maxNodes:
			return nil, fmt.Errorf("%q is no size: want sizes such as 2,4,8, each from 1 to %d", part, maxNodes)
		case slices.Contains(sizes, size):
			return nil, fmt.Errorf("the size %d is there twice", size)
		}
		sizes = append(sizes, size)
	}
	if len(sizes) > maxSizes {
		return nil, fmt.Errorf("%d sizes, at most %d", len(sizes), maxSizes)
	}
	slices.Sort(sizes)
	return sizes, nil
}

// Size is the number of nodes of the largest round that can be formed of so many, 0 where none can be. Between the least
// and the most it may be any, or one of Sizes where there are some: a batch that has to divide, or a mesh, knows only a few.
func (s Spec) Size(nodes int) int {
	if len(s.Sizes) == 0 {
		if nodes < s.MinNodes {
			return 0
		}
		return min(nodes, s.MaxNodes)
	}
	i, found := slices.BinarySearch(s.Sizes, nodes)
	switch {
	case found:
		return nodes
	case i == 0:
		return 0
	}
	return s.Sizes[i-1]
}

// NextSize is the size above this one, 0 where there is none.
func (s Spec) NextSize(size int) int {
	for _, next := range s.Sizes {
		if next > size {
			return next
		}
	}
	return 0
}

// NodesText is how many nodes may take part, as the flag has it: 4, 2:8 or 2,4,8.
func (s Spec) NodesText() string {
	switch {
	case len(s.Sizes) > 0:
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Sizes), " ", ","), "[]")
	case s.MinNodes == s.MaxNodes:
		return fmt.Sprint(s.MinNodes)
	}
	return fmt.Sprintf("%d:%d", s.MinNodes, s.MaxNodes)
}

// sizesFit reports whether the sizes, if there are any, are rising numbers from the least to the most.
func (s Spec) sizesFit() bool {
	if len(s.Sizes) == 0 {
		return true
	}
	for i, size := range s.Sizes[1:] {
		if size <= s.Sizes[i] {
			return false
		}
	}
	return len(s.Sizes) <= maxSizes && s.Sizes[0] == s.MinNodes && s.Sizes[len(s.Sizes)-1] == s.MaxNodes
}
