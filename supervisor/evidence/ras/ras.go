// Package ras asks NCCL's RAS, a thread in each rank that knows of all ranks which it can reach, how far they have come.
// Asking it has crashed jobs, so it is asked once when a hang is suspected, and never while training makes progress.
package ras

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// DefaultAddress is where it listens unless NCCL_RAS_ADDR says otherwise.
const DefaultAddress = "localhost:28028"

// Answer is what RAS says.
type Answer struct {
	Text          []byte // as it came
	Communicators []Communicator
}

// Communicator is one of NCCL's.
type Communicator struct {
	Size    int    `json:"size"`
	Ranks   []Rank `json:"ranks"`
	Missing []Rank `json:"missing_ranks"`
}

// Rank is one rank of a communicator, by its number in it.
type Rank struct {
	Rank   int              `json:"rank"`
	Counts map[string]int64 `json:"collective_counts"`
	Status struct {
		Unresponsive bool `json:"unresponsive"`
		Dead         bool `json:"considered_dead"`
	} `json:"status"`
}

// Collectives is how many the rank has joined.
func (r Rank) Collectives() (n int64) {
	for _, count := range r.Counts {
		n += count
	}
	return n
}

// mostAnswer bounds what is read, in bytes.
const mostAnswer = 1 << 20

// Ask asks RAS once. Nothing listens there where there is no NCCL, or an old one. It fails where nothing answers by the
// deadline, or something else does; Text has what was answered.
func Ask(address string, deadline time.Time) (a Answer, err error) {
	conn, err := net.DialTimeout("tcp", address, time.Until(deadline))
	if err != nil {
		return a, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return a, err
	}
	r := bufio.NewReader(io.LimitReader(conn, mostAnswer))
	say := func(line, want string) (bool, error) {
		if _, err := io.WriteString(conn, line+"\n"); err != nil {
			return false, err
		}
		answer, err := r.ReadString('\n')
		if err != nil {
			return false, fmt.Errorf("no answer to %s: %w", line, err)
		}
		return strings.HasPrefix(answer, want), nil
	}
	if ok, err := say("CLIENT PROTOCOL 2", "SERVER PROTOCOL "); err != nil || !ok {
		return a, errors.Join(err, errors.New("what listens there is not NCCL's RAS"))
	}
	if _, err := say("TIMEOUT 1", "OK"); err != nil {
		return a, err
	}
	inJSON, err := say("SET FORMAT json", "OK") // 2.28 and later
	if err != nil {
		return a, err
	}
	if _, err := io.WriteString(conn, "STATUS\n"); err != nil {
		return a, err
	}
	a.Text, err = io.ReadAll(r)
	if err == nil && inJSON {
		a.Communicators, err = Parse(a.Text)
	}
	return a, err
}

// Parse reads the answer in JSON. The error says where it has another form.
func Parse(text []byte) ([]Communicator, error) {
	var answer struct {
		Communicators []Communicator `json:"communicators"`
	}
	if err := json.Unmarshal(repair(text), &answer); err != nil {
		return nil, fmt.Errorf("the answer of NCCL's RAS: %w", err)
	}
	return answer.Communicators, nil
}

// repair puts a comma between two values of JSON where there is none: 2.28.9 forgets one.
func repair(text []byte) []byte {
	out := make([]byte, 0, len(text)+8)
	inside, escaped := false, false // a string
	var last byte                   // the end of the value before; 0 where none has just ended
	space := false                  // since then
	for _, c := range text {
		if inside {
			out = append(out, c)
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inside, last, space = false, c, false
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			space = true
			out = append(out, c)
			continue
		case ',', ':':
			last = 0
		case '}', ']':
			last = c
		default: // a value begins, or a word goes on
			begins := c == '{' || c == '[' || c == '"'
			if last != 0 && (begins || space || last == '}' || last == ']' || last == '"') {
				out = append(out, ',')
			}
			if last = c; begins {
				last = 0
			}
			inside = c == '"'
		}
		space = false
		out = append(out, c)
	}
	return out
}
