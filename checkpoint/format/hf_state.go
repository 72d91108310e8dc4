package format

import (
	"bytes"
	"encoding/json"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// maxHFState bounds the state that is parsed; a larger one, of a log with some hundred thousand lines, is read at
// its ends.
const maxHFState = 64 << 20

// checkHFState wants the state of the Trainer to be whole and of this step.
func checkHFState(l *look, c *Checkpoint, name string, size int64) error {
	if l.Level == Names {
		return nil
	}
	if size > maxHFState || l.Level == Ends && size > 192<<10 {
		return checkHFStateEnds(l, name)
	}
	data, err := l.small(name, maxHFState)
	if err != nil {
		return err
	}
	var state struct {
		GlobalStep *int64 `json:"global_step"`
	}
	finite(data)
	if err := json.Unmarshal(data, &state); err != nil {
		return problem.New(problem.BadJSON, "%s: %v", name, err)
	}
	switch {
	case state.GlobalStep == nil:
		return problem.New(problem.BadJSON, "%s has no global_step", name)
	case *state.GlobalStep != c.Step:
		return problem.New(problem.StepMismatch, "%s says step %d in %s", name, *state.GlobalStep, c.Path)
	}
	return nil
}

// checkHFStateEnds looks at the first and the last byte of a large state.
func checkHFStateEnds(l *look, name string) error {
	f, err := l.open(name)
	if err != nil {
		return err
	}
	defer f.close()
	head, tail := make([]byte, 64), make([]byte, 64)
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return err
	}
	if n, err := f.ReadAt(tail, f.size-int64(len(tail))); n < len(tail) {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) || !bytes.HasSuffix(bytes.TrimSpace(tail), []byte("}")) {
		return problem.New(problem.BadJSON, "%s begins with %.8q and ends with %.8q, not with braces", name, head, tail[56:])
	}
	return nil
}

// finite replaces in place the words NaN, Infinity and -Infinity, which Python writes for numbers and JSON does not
// know. What stands in strings stays.
func finite(data []byte) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case 'N', 'I':
			for _, word := range []string{"NaN", "Infinity"} {
				if bytes.HasPrefix(data[i:], []byte(word)) {
					copy(data[i:], "0           "[:len(word)])
					i += len(word) - 1
					break
				}
			}
		}
	}
}
