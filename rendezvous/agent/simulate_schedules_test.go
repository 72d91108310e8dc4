package agent_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// schedule is the shortest job that is known to break a promise once one mechanism is removed. As the code stands it
// breaks none (TestSchedules), and rendezvous/mutants shows that it does without the mechanism. docs/rounds.md tells of
// each, as written here.
type schedule struct {
	mutant string // as rendezvous/mutants calls the removal
	keeps  string // the mechanism
	job    simConfig
	lines  []string // what follows from the job's faults without it
}

var schedules = []schedule{
	{
		"the fence is not waited for",
		"A silent member counts as gone only after the fence time.",
		simConfig{n: 2, min: 1, calm: true, faults: []fault{
			{at: 10 * time.Second, kind: "cut", node: 1, long: 40 * time.Second},
		}},
		[]string{
			"Its lease ends, and its key goes. Its workers train on: it may stop them by half of the fence time.",
			"The leader takes the key's end for that of the workers, and forms round 1 with the other node.",
		},
	},
	{
		"a stop is forgotten while the store does not answer",
		"A node that cannot reach the store stops its own workers by half of the fence time.",
		simConfig{n: 2, min: 1, calm: true, work: time.Minute, faults: []fault{
			{at: 10 * time.Second, kind: "cut", node: 1, long: 40 * time.Second},
		}},
		[]string{
			"Its lease ends, and one fence time later the leader forms round 1 with the other node.",
			"Nobody could tell the first one, and its workers of round 0 still train.",
		},
	},
	{
		"the start guard is dropped",
		"A node starts workers only while its own deadline has not passed.",
		simConfig{n: 2, min: 1, calm: true, work: time.Minute, lateNews: true},
		[]string{
			"After the fence time the leader forms round 1 without it.",
			"When its network is back, the first that it hears is that round 0 runs, with it as a member. It starts its workers.",
		},
	},
	{
		"news from before a lease count with it",
		"A node whose lease is new starts no workers before it has read the job's record on it.",
		simConfig{n: 2, min: 1, calm: true, work: 2 * time.Minute, lateNews: true, faults: []fault{
			{at: 55 * time.Second, kind: "late", node: 1, long: time.Minute},
		}},
		[]string{
			"After the fence time the leader forms round 1 without it.",
			"When its network is back it gets a lease, and its own deadline is far away again. That round 0 runs it has heard, and no more yet.",
			"It starts the workers of round 0, beside those of round 1.",
		},
	},
	{
		"a node acknowledges before its workers are gone",
		"The acknowledgement comes when the last process is gone, not with the order to stop.",
		simConfig{n: 2, min: 2, calm: true, faults: []fault{
			{at: 10 * time.Second, kind: "fail", node: 1},
		}},
		[]string{
			"The other is told to stop, says at once that it has, and its workers take up to 3 s to go.",
			"All have said so: the leader forms round 1, and the node whose workers had failed starts.",
		},
	},
	{
		"any newcomer proves a death",
		"A newcomer of the same name proves a death only where it has killed what was left.",
		simConfig{n: 2, min: 2, calm: true, work: time.Minute, faults: []fault{
			{at: 10 * time.Second, kind: "move", node: 1, long: 30 * time.Second},
		}},
		[]string{
			"The first pod's lease ends, and the second one takes the key.",
			"The leader counts the first as dead without the fence, and forms round 1 while its workers of round 0 train.",
		},
	},
	{
		"a lease is taken over without proof",
		"A live lease is never taken over.",
		simConfig{n: 2, min: 2, calm: true, work: time.Minute, faults: []fault{
			{at: 10 * time.Second, kind: "move", node: 1, long: 30 * time.Second},
		}},
		[]string{
			"The second pod overwrites the key while the first one's lease lives, as if it were a farewell.",
			"The leader takes the first one for a node that has left, and forms round 1 while its workers of round 0 train.",
		},
	},
	{
		"the leader does not compare",
		"Each write of the leader compares the revision of the record that it has read, and its election.",
		simConfig{
			n: 3, min: 2, calm: true, work: 40 * time.Second, skip: 2,
			leader: &fault{kind: "leader paused before its write", long: simPause},
		},
		[]string{
			"It was about to form round 0 of all. Its lease ends meanwhile, and another node leads and forms round 0 of the other two.",
			"When it goes on, its write goes through: two take themselves for rank 0.",
		},
	},
	{
		"a node does not compare what it knows",
		"A node compares its key and the job's record with the store once in each renewal.",
		simConfig{n: 2, min: 2, calm: true, faults: []fault{
			{at: 10 * time.Second, kind: "fail", node: 1},
			{at: 10100 * time.Millisecond, kind: "news lost", node: 1, long: 5 * time.Second},
		}},
		[]string{
			"Round 1 is formed meanwhile, of which this node never hears. The others train, and no other news comes that would show it.",
			"The leader waits for a member that is there and well, for ever.",
		},
	},
	{
		"a deleted record is not put back",
		"The leader puts back a record that somebody has deleted.",
		simConfig{n: 2, min: 2, calm: true, faults: []fault{
			{at: 10 * time.Second, kind: "job deleted"},
		}},
		[]string{
			"A second later the nodes take the job for gone and stop, and one fence time after that it starts over.",
			"Round 0 is found to have stopped without a word, and a restart is charged for which nothing has failed.",
		},
	},
	{
		"a new store is trusted at once",
		"A store that took the place of another one forms nothing for one fence time.",
		simConfig{n: 2, min: 1, calm: true, volatile: true, faults: []fault{
			{at: 10 * time.Second, kind: "cut", node: 1, long: 30 * time.Second},
			{at: 12 * time.Second, kind: "store lost"},
		}},
		[]string{
			"The other node joins the new store with the record that it knows. Nothing there tells of the first one.",
			"Round 1 is formed at once, while the workers of the node that is cut off train.",
		},
	},
	{
		"a look from before the stop counts",
		"A round is formed on what all members have seen of the checkpoints since the last worker ended.",
		simConfig{n: 2, min: 2, calm: true, saves: true, faults: []fault{
			{at: 10 * time.Second, kind: "fail", node: 1},
		}},
		[]string{
			"Both have read the checkpoints when they began, and another one was saved since.",
			"The leader takes the first look for an answer, and round 1 begins from an older checkpoint than there is.",
		},
	},
	{
		"a list of members comes after its round",
		"A round's header and the list of its members are written in one transaction.",
		simConfig{n: 18, min: 18, calm: true},
		[]string{
			"The header of round 0 is there, and names a list that is not.",
			"Were the leader to die between the two writes, nobody could ever tell who takes part.",
		},
	},
	{
		"nobody waits for the last call",
		"An elastic job waits for the last call before it starts with fewer than it could have.",
		simConfig{n: 4, min: 2, calm: true, whole: true, spread: 1500 * time.Millisecond},
		[]string{
			"The leader starts as soon as two are there.",
			"The others came a second later, and wait as spares until something fails.",
		},
	},
}

// TestSchedules runs the job of each schedule, which goes well as long as its mechanism is there.
func TestSchedules(t *testing.T) {
	for _, s := range schedules {
		t.Run(s.mutant, func(t *testing.T) {
			seeds := int64(2 * attempts)
			if testing.Short() {
				seeds = 2
			}
			for seed := range seeds {
				c := s.job
				c.seed = seed
				if r := run(t, c); r.wrong != "" {
					t.Fatalf("seed %d: %s\n%s", seed, r.wrong, strings.Join(r.log, "\n"))
				}
			}
		})
	}
}

// TestSchedulesAreTold changes each number of each schedule: what the page tells of it has to change, too.
func TestSchedulesAreTold(t *testing.T) {
	for _, s := range schedules {
		for name, field := range numbers(reflect.ValueOf(&s.job).Elem(), "") {
			was, before := field.Int(), strings.Join(s.steps(), "\n")
			switch {
			case name == "seed", name == "skip" && s.job.leader == nil, strings.Contains(name, ".") && was == 0: // it is not used
				continue
			case field.Type() == reflect.TypeFor[time.Duration]():
				field.SetInt(was + int64(time.Second))
			case was > 0: // no more than all nodes begin
				field.SetInt(was - 1)
			default:
				field.SetInt(1)
			}
			if strings.Join(s.steps(), "\n") == before {
				t.Errorf("%s: nothing tells of %s", s.mutant, name)
			}
			field.SetInt(was)
		}
	}
}

// numbers are the fields of a job, and of its faults, that are numbers.
func numbers(v reflect.Value, name string) map[string]reflect.Value {
	all := map[string]reflect.Value{}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		all[name] = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem() // the fields are not exported
	case reflect.Pointer:
		maps.Copy(all, numbers(v.Elem(), name))
	case reflect.Struct:
		for i := range v.NumField() {
			maps.Copy(all, numbers(v.Field(i), strings.TrimPrefix(name+"."+v.Type().Field(i).Name, ".")))
		}
	case reflect.Slice:
		for i := range v.Len() {
			maps.Copy(all, numbers(v.Index(i), fmt.Sprint(name, i)))
		}
	}
	return all
}

// said is a fault as a person tells of it.
func (f fault) said() string {
	at, long, node := seconds(f.at), seconds(f.long), fmt.Sprint("node ", f.node)
	switch f.kind {
	case "cut":
		return fmt.Sprintf("After %s %s loses the store, for %s.", at, node, long)
	case "fail":
		return fmt.Sprintf("After %s the workers of %s fail.", at, node)
	case "move":
		return fmt.Sprintf("After %s %s is cut off for %s, and its operator gives its name to another pod.", at, node, long)
	case "late":
		return fmt.Sprintf("From %s on, for %s, what the store tells %s arrives late.", at, long, node)
	case "news lost":
		return fmt.Sprintf("After %s %s misses what its watch tells of the job, for %s.", at, node, long)
	case "job deleted":
		return fmt.Sprintf("After %s somebody deletes the job's record.", at)
	case "store lost":
		return fmt.Sprintf("After %s the store's host is lost, and with it all that was known.", at)
	}
	panic(f.kind)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// steps are the lines of a schedule: who begins, what happens to them, and what follows.
func (s schedule) steps() []string {
	began := fmt.Sprintf("%d nodes begin within %s", s.job.n, seconds(cmp.Or(s.job.spread, simBegin)))
	if s.job.min < s.job.n {
		began += fmt.Sprintf("; %d would do", s.job.min)
	}
	if s.job.volatile {
		began += ", with a store within gangrun"
	}
	list := []string{fmt.Sprintf("%s. A round trains for %s.", began, seconds(cmp.Or(s.job.work, simWork)))}
	if s.job.skew != 0 {
		list = append(list, fmt.Sprintf("Their clocks are wrong by up to %s.", seconds(s.job.skew)))
	}
	if s.job.lateNews {
		list = append(list, fmt.Sprintf("When round 0 is formed one node loses the store, for %s, and has not yet heard of it.", seconds(simLate)))
	}
	if f := s.job.leader; f != nil {
		list = append(list, fmt.Sprintf("The leader stands still for %s just before its write number %d.", seconds(f.long), s.job.skip+1))
	}
	for _, f := range s.job.faults {
		list = append(list, f.said())
	}
	return append(list, s.lines...)
}

const (
	schedulesPage  = "../../docs/rounds.md"
	schedulesBegin = "<!-- written by rendezvous/agent TestSchedulesPage -->\n"
	schedulesEnd   = "<!-- end -->\n"
)

// TestSchedulesPage has the page tell of each schedule as it is, and of the promise that is broken without the mechanism
// as rendezvous/mutants sees it.
func TestSchedulesPage(t *testing.T) {
	page, err := os.ReadFile(schedulesPage)
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := os.ReadFile("../mutants/schedules_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, s := range schedules {
		text += "\n**" + s.keeps + "** Without it:\n\n"
		for i, line := range s.steps() {
			text += fmt.Sprintf("%d. %s\n", i+1, line)
		}
		_, rest, found := strings.Cut(string(mutants), fmt.Sprintf("{%q, ", s.mutant))
		if !found {
			t.Fatalf("rendezvous/mutants does not remove it: %s", s.mutant)
		}
		_, rest, _ = strings.Cut(rest, `"`)
		broken, _, _ := strings.Cut(rest, `"`)
		text += fmt.Sprintf("%d. The simulator says `%s`.\n", len(s.steps())+1, broken)
	}
	before, rest, found := strings.Cut(string(page), schedulesBegin)
	_, after, ends := strings.Cut(rest, schedulesEnd)
	if !found || !ends {
		t.Fatalf("%s has no place for the schedules", schedulesPage)
	}
	want := before + schedulesBegin + text + "\n" + schedulesEnd + after
	if want == string(page) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("%s does not tell of the schedules as they are: UPDATE_GOLDEN=1 go test ./rendezvous/agent -run TestSchedulesPage",
			schedulesPage)
	}
	if err := os.WriteFile(schedulesPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
