package torchrun

import (
	"fmt"
	"strings"
)

// Streams tells which streams of which local ranks are meant, by --redirects or --tee.
type Streams struct {
	all    std
	byRank map[int]std // nil when it is one for all
}

type std int // bits: 1 stdout, 2 stderr

// For reports whether the stdout and the stderr of a local rank are meant.
func (s Streams) For(localRank int) (stdout, stderr bool) {
	which := s.all
	if s.byRank != nil {
		which = s.byRank[localRank]
	}
	return which&1 != 0, which&2 != 0
}

// parseStreams reads 0 to 3, or a map of local ranks: 0:1,1:3. torchrun's own map ends at rank 9; this one does not.
func parseStreams(text string) (Streams, error) {
	refused := fmt.Errorf(
		"%q is neither 0 (none), 1 (stdout), 2 (stderr), 3 (both) nor a map of local ranks, 0:1,1:3", text)
	if which, ok := parseStd(text); ok {
		return Streams{all: which}, nil
	}
	s := Streams{byRank: map[int]std{}}
	for item := range strings.SplitSeq(text, ",") {
		rank, value, _ := strings.Cut(item, ":")
		which, ok := parseStd(value)
		n, err := number(rank)
		if !ok || err != nil || !onlyDigits(rank) {
			return Streams{}, refused
		}
		s.byRank[n] = which
	}
	return s, nil
}

func parseStd(text string) (std, bool) {
	if len(text) != 1 || text[0] < '0' || text[0] > '3' {
		return 0, false
	}
	return std(text[0] - '0'), true
}
