package notify

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Message is what one datagram says, as far as gangrun knows the words.
type Message struct {
	Rank  int    // X_GANGRUN_RANK; -1 when not given
	Step  *int64 // X_GANGRUN_STEP: the step that was just finished; nil when not given
	Phase string // X_GANGRUN_PHASE: what it does from now on; "" when not given
	Looks bool   // X_GANGRUN_STOP_FILE=1: it looks at the file that GANGRUN_STOP_FILE names
	// Own is X_GANGRUN_OWN_USEC: how much of the step the rank has spent without waiting for others; 0 when not given.
	Own   time.Duration
	Total *int64 // X_GANGRUN_STEPS: how many steps the training run has in all; nil when not given
}

// PhaseCheckpoint is the phase of a rank that saves a checkpoint. Any other ends it. PhaseExit is that of one that is
// about to end, which STOPPING=1 says too.
const (
	PhaseCheckpoint = "checkpoint"
	PhaseExit       = "exit"
)

// Parse reads one datagram of the sd_notify protocol: lines of NAME=VALUE. Unknown names are ignored, as sd_notify(3) asks
// for; a known one with an invalid value is an error.
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
		case "X_GANGRUN_STEPS":
			n, err := number(name, value, math.MaxInt64)
			if err != nil {
				return Message{}, err
			}
			m.Total = &n
		case "X_GANGRUN_RANK":
			n, err := number(name, value, maxRank)
			if err != nil {
				return Message{}, err
			}
			m.Rank = int(n)
		case "X_GANGRUN_PHASE":
			if !word(value) {
				return Message{}, fmt.Errorf("%s=%.40q: want a word of 1 to %d letters, digits, _ and -", name, value, maxPhase)
			}
			m.Phase = value
		case "X_GANGRUN_STOP_FILE":
			if value != "1" {
				return Message{}, fmt.Errorf("%s=%.40q: want 1", name, value)
			}
			m.Looks = true
		case "X_GANGRUN_OWN_USEC":
			n, err := number(name, value, math.MaxInt64/int64(time.Microsecond))
			if err != nil {
				return Message{}, err
			}
			m.Own = time.Duration(n) * time.Microsecond
		case "STOPPING":
			if value == "1" {
				m.Phase = PhaseExit
			}
		}
	}
	return m, nil
}

// maxRank is far beyond the largest job, and bounds what a worker can make us remember.
const maxRank = 1<<20 - 1

// maxPhase bounds the name of a phase, in bytes.
const maxPhase = 32

func word(s string) bool {
	return s != "" && len(s) <= maxPhase && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
	})
}

func number(name, value string, most int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%s=%.40q: want a number from 0 to %d", name, value, most)
	}
	return n, nil
}
