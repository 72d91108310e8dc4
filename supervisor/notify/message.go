package notify

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Message is what one datagram says, as far as gangrun knows the words.
type Message struct {
	Rank int    // X_GANGRUN_RANK; -1 when not given
	Step *int64 // X_GANGRUN_STEP: the step that was just finished; nil when not given
}

// Parse reads one datagram of the sd_notify protocol: lines of NAME=VALUE. Names that are not known are somebody else's
// and left alone, as sd_notify(3) asks for; a known one with a value that makes no sense is an error.
func Parse(datagram []byte) (Message, error) {
	m := Message{Rank: -1}
	for line := range strings.Lines(string(datagram)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch name {
		case "X_GANGRUN_STEP":
			n, err := number(name, value, math.MaxInt64)
			if err != nil {
				return Message{}, err
			}
			m.Step = &n
		case "X_GANGRUN_RANK":
			n, err := number(name, value, maxRank)
			if err != nil {
				return Message{}, err
			}
			m.Rank = int(n)
		}
	}
	return m, nil
}

// maxRank is far beyond the largest job, and bounds what a worker can make us remember.
const maxRank = 1<<20 - 1

func number(name, value string, most int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%s=%.40q: want a number from 0 to %d", name, value, most)
	}
	return n, nil
}
