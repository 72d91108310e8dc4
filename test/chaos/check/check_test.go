package check

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// TestKnowsNothing reads what the checker imports: the standard library and histories.
func TestKnowsNothing(t *testing.T) {
	for _, dir := range []string{".", "../history"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range file.Imports {
				path := strings.Trim(i.Path.Value, `"`)
				if strings.Contains(path, "gangrun") && !strings.HasSuffix(path, "/test/chaos/history") {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}

const second = int64(time.Second)

// good is a job of two nodes with one rank each: a worker is killed after the save at step 2, an outage of the store is
// short, and another one is not.
func good() history.Job {
	states := []string{""}
	for step := 1; step <= 20; step++ {
		states = append(states, history.State(states[step-1], step))
	}
	j := history.Job{Nodes: 2, Ranks: 1, Pinned: map[string]int{"a": 0, "b": 1}, Half: 8 * time.Second}
	write := func(at int64, kind history.Kind, round, rank, step int) {
		r := history.Record{At: at + int64(rank), Kind: kind, Node: []string{"a", "b"}[rank], Round: round, Rank: rank, World: 2, Step: step}
		if kind == history.Open || kind == history.Done {
			r.State = states[step]
		}
		if kind == history.Open {
			r.Decision, r.Meet = map[int]string{0: "fresh"}[step]+map[bool]string{true: "resume"}[step > 0], "a:1"
		}
		j.Records = append(j.Records, r)
	}
	for rank := range 2 {
		write(0, history.Open, 0, rank, 0)
		write(1*second, history.Stepped, 0, rank, 1)
		write(2*second, history.Stepped, 0, rank, 2)
		if rank == 0 {
			write(2*second, history.Save, 0, rank, 2)
			write(2*second+1, history.Saved, 0, rank, 2)
		}
		write(5*second, history.Open, 1, rank, 2)
		for step := 3; step <= 19; step++ {
			write(int64(step)*second+second*2/5, history.Stepped, 1, rank, step)
			write(int64(step)*second+second*4/5, history.Stepped, 1, rank, step)
		}
		write(40*second, history.Open, 2, rank, 2)
		write(41*second, history.Stepped, 2, rank, 3)
		write(42*second, history.Done, 2, rank, 3)
	}
	j.Writes = []history.Write{
		{Run: "r", Seq: 7}, {}, {Run: "r", Seq: 1}, {Run: "r", Seq: 2, Round: 1}, {Run: "r", Seq: 3, Round: 1},
	}
	message := json.RawMessage(`{"verdict":"success","reason":"Succeeded","exitCode":0}`)
	j.Ends = []history.End{
		{Node: "b", Pod: 0, At: 39 * second, Code: 143, Told: 38 * second, Message: json.RawMessage(`{"verdict":"preempted","reason":"Preempted","exitCode":143}`)},
		{Node: "a", At: 43 * second, Message: message}, {Node: "b", Pod: 1, At: 43 * second, Message: message},
	}
	j.Faults = []history.Fault{
		{Kind: "kill worker", From: 3 * second},
		{Kind: "outage", From: 10 * second, To: 13 * second}, // after which nothing is done for a while
		{Kind: "cut", Node: "b", From: 20 * second, To: 38 * second},
	}
	return j
}

// last changes the last record of a kind.
func last(j *history.Job, kind history.Kind, change func(*history.Record)) {
	for i := len(j.Records) - 1; i >= 0; i-- {
		if j.Records[i].Kind == kind {
			change(&j.Records[i])
			return
		}
	}
}

func TestEveryRuleIsBroken(t *testing.T) {
	if wrong := Check(good()); len(wrong) > 0 {
		t.Fatalf("nothing is wrong: %q", wrong)
	}
	add := func(j *history.Job, r history.Record) { j.Records = append(j.Records, r) }
	for _, tt := range []struct {
		rule  string
		spoil func(*history.Job)
	}{
		{"R1: one round at a time", func(j *history.Job) {
			add(j, history.Record{At: 41 * second, Kind: history.Beside, Node: "a", Round: 2, World: 2, Text: "1-0-b is alive"})
		}},
		{"R1: one round at a time", func(j *history.Job) {
			add(j, history.Record{At: 41 * second, Kind: history.Stepped, Node: "a", Round: 1, World: 2, Step: 3})
		}},
		{"R1: a rank starts once in a round", func(j *history.Job) {
			r := j.Records[0]
			r.At, r.Pod = r.At+second, 1
			add(j, r)
		}},
		{"R2: nothing of another round", func(j *history.Job) {
			add(j, history.Record{At: 41 * second, Kind: history.Foreign, Node: "a", Round: 2, World: 2, Text: "rank 1 of round 1"})
		}},
		{"R2: the job's record goes on from the one before", func(j *history.Job) { j.Writes[3].Seq = 3 }},
		{"R2: the job's record goes on from the one before", func(j *history.Job) { j.Writes[4].Round = 0 }},
		{"R4: one resume point", func(j *history.Job) {
			last(j, history.Open, func(r *history.Record) { r.Step, r.State, r.Decision = 0, "", "fresh" })
		}},
		{"R4: one resume point", func(j *history.Job) { last(j, history.Open, func(r *history.Record) { r.State = "torn" }) }},
		{"R4: one resume point", func(j *history.Job) { last(j, history.Open, func(r *history.Record) { r.Made = 1 }) }},
		{"no saved step is lost", func(j *history.Job) {
			add(j, history.Record{At: 19 * second, Kind: history.Saved, Node: "a", Round: 1, World: 2, Step: 10})
		}},
		{"R4: what a round begins at is on all disks", func(j *history.Job) {
			j.Own = true
			add(j, history.Record{At: 2*second + 1, Kind: history.Save, Node: "n0", World: 2, Step: 2})
			add(j, history.Record{At: 2*second + 1, Kind: history.Save, Node: "n1", World: 2, Step: 2})
			add(j, history.Record{At: 2*second + 2, Kind: history.Cut, Node: "n1", World: 2, Step: 2})
		}},
		{"R7: ranks are stable", func(j *history.Job) {
			j.Pinned = nil
			for i := range j.Records {
				if r := &j.Records[i]; r.Round == 2 {
					r.Rank = 1 - r.Rank
				}
			}
		}},
		{"R7: ranks are stable", func(j *history.Job) { j.Pinned["b"] = 0 }},
		{"R3: one verdict", func(j *history.Job) {
			j.Ends[2].Code, j.Ends[2].Message = 137, json.RawMessage(`{"verdict":"retry","reason":"KilledBySIGKILL","exitCode":137}`)
		}},
		{"R3: one verdict", func(j *history.Job) { j.Ends[2].Message = nil }},
		{"R3: one verdict", func(j *history.Job) { j.Fatal = "a" }},
		{"R5: local trouble stays local", func(j *history.Job) { j.Ends[0].Code = 65 }},
		{"R5: local trouble stays local", func(j *history.Job) { j.Ends[0].Told = 0 }},
		{"a stop is obeyed", func(j *history.Job) { j.Ends[0].Told = second }},
		{"R6: workers stop in time without the store", func(j *history.Job) {
			add(j, history.Record{At: 32 * second, Kind: history.Stepped, Node: "b", Round: 1, Rank: 1, World: 2, Step: 3})
		}},
		{"R6: a short outage stops nobody", func(j *history.Job) {
			kept := j.Records[:0]
			for _, r := range j.Records {
				if r.Node != "b" || r.At < 11*second || r.At > 30*second {
					kept = append(kept, r)
				}
			}
			j.Records = kept
		}},
		{"the same loss", func(j *history.Job) { last(j, history.Done, func(r *history.Record) { r.State = "another" }) }},
		{"the same loss", func(j *history.Job) { j.Records = j.Records[:len(j.Records)-1] }},
		{"nothing is left", func(j *history.Job) { j.Left = []string{"1-0-a"} }},
		{"it comes to its end", func(j *history.Job) { j.Stuck = "waits" }},
	} {
		j := good()
		tt.spoil(&j)
		wrong := Check(j)
		found := false
		for _, text := range wrong {
			found = found || strings.HasPrefix(text, tt.rule+": ")
		}
		if !found {
			t.Errorf("%s: not found among %q", tt.rule, wrong)
		}
	}
}

// TestANodeThatOpensNothing has the newest save whole on the one node of two whose workers get as far as a line.
func TestANodeThatOpensNothing(t *testing.T) {
	j := history.Job{Nodes: 2, Ranks: 1, Own: true, Stuck: "it is not about that"}
	for i, r := range []history.Record{
		{Kind: history.Open}, {Kind: history.Open, Rank: 1},
		{Kind: history.Save, Step: 2}, {Kind: history.Save, Rank: 1, Step: 2}, {Kind: history.Saved, Step: 2},
		{Kind: history.Open, Round: 1},
	} {
		r.At, r.Node, r.World = int64(i)*second, fmt.Sprint("n", r.Rank), 2
		j.Records = append(j.Records, r)
	}
	lost := func() bool {
		return slices.ContainsFunc(Check(j), func(text string) bool { return strings.HasPrefix(text, "no saved step is lost") })
	}
	if lost() {
		t.Error("what one node does not have is not lost")
	}
	j.Records[3].Kind = history.Saved
	if !lost() {
		t.Error("what both have is lost, and that is not found")
	}
}

// TestAPauseIsNoViolation is what cannot be prevented: a gangrun that gets no processor time stops nothing.
func TestAPauseIsNoViolation(t *testing.T) {
	j := good()
	j.Records = append(j.Records, history.Record{At: 41 * second, Kind: history.Stepped, Node: "b", Round: 1, Rank: 1, World: 2, Step: 3})
	if len(Check(j)) == 0 {
		t.Error("two rounds at once are not found")
	}
	j.Faults = append(j.Faults, history.Fault{Kind: "stop gangrun", Node: "b", From: 15 * second, To: 41 * second, Long: true})
	if wrong := Check(j); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
	j = good()
	j.Ends[0].Told = second
	if len(Check(j)) == 0 {
		t.Error("a stop that is not obeyed is not found")
	}
	j.Faults = append(j.Faults, history.Fault{Kind: history.Starved, From: 2 * second, To: 36 * second})
	if wrong := Check(j); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
}
