package rendezvous

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

var update = flag.Bool("update", false, "write the golden files")

func ptr[T any](v T) *T { return &v }

var at = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

func fullJob() *Job {
	spec := DefaultSpec(4)
	spec.MinNodes = 2
	spec.Roles = map[string]RolePolicy{"ps": {Restart: RestartSelf, Optional: true}}
	spec.Sizes = []int{2, 4}
	spec.Restarts.Window, spec.Restarts.InWindow, spec.Restarts.MaxPreemptions = Duration(time.Hour), 5, 9
	outcome := fullOutcome()
	stop := &Stop{Round: 3, Kind: StopFailure, Node: "b", Reason: "OOMKilled", Message: "killed", At: at, Judged: true, Charged: true, Outcome: &outcome}
	return &Job{
		V: 1, Store: "8e9e05c52164694d", RunUID: "u1", Seq: 17, Phase: Failed, At: at, Since: at, SinceSeq: 17, Round: 3, NextRound: 4,
		Spec: spec, MembersGone: true, SettledStore: "8e9e05c52164694d", Stop: stop, Suspend: true,
		Save: &Save{Round: 3, Kind: StopDeparture, Node: "b", Why: "it is leaving", At: at, Agreed: true, Step: ptr(int64(1240)), By: at,
			Note: "all have saved at step 1240"},
		NotBefore: at, QuorumSince: at,
		End: &End{Verdict: exitcodes.Retry, Reason: "RestartBudgetExhausted", Message: "spent", Code: 137, Cause: stop, At: at,
			Spent: &Spent{LimitProgress, "3 of 3"}, By: Author{Name: "a", Incarnation: "i0"}},
		Budget: Budget{Used: 3, Total: 5, Preemptions: 1, Recent: []time.Time{at}, Mark: Progress{Step: ptr(int64(7)), Checkpoint: ptr(int64(0))},
			Cause: "OOMKilled//137", Step: ptr(int64(7)), Same: 1, FellBack: true},
		Clock:   Duration(-time.Minute),
		Bans:    []Ban{{Host: "gpu-7", Score: 3, Until: at.Add(halfLife), Last: fullHost().Faults[0]}},
		Reached: ptr(int64(5)), Fallback: true, Handled: []string{"c1"},
		History: []Past{{Round: 3, Kind: StopFailure, Node: "b", Reason: "OOMKilled", At: at}},
	}
}

func fullOutcome() Outcome {
	return OutcomeOf(exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: "OOMKilled", Message: "rank 3 was killed", Code: 137, Role: exitcodes.RoleRoot,
		Rule: "oom", Evidence: "oom_kill 1", Rank: 3, LocalRank: 1, ExitCode: ptr(0), Signal: 9, WorkerCode: ptr(1), At: at,
		NodeFault: true, CodeOverridden: true, Names: []int{7}, Hosts: []string{"10.0.0.7"}, Said: &exitcodes.Finding{
			Verdict: exitcodes.Fatal, Reason: "CodeError", Code: 1, Role: exitcodes.RoleRoot, Rule: "code.syntax",
			Evidence: "KeyError: 'x'", Rank: 2, LocalRank: 0,
		},
	}, "8e9e05c52164694d", "u1", 3)
}

func fullNode() *Node {
	spec, outcome := DefaultSpec(2), fullOutcome()
	job := fullJob()
	return &Node{
		V: 1, Store: "8e9e05c52164694d", RunUID: "u1", Incarnation: "i1", BootID: "boot", PIDNS: "4026531836", Unique: true,
		Address: "b.svc", Port: 29501, Slots: 8, Role: "worker", Pin: ptr(0), Rank: ptr(1), SpecHash: spec.Hash(), Spec: &spec,
		State: NodeStopped, Round: 3, Leaving: true, Asks: true,
		Service: &Service{Round: 3, Looks: true, Who: "rank 1 (at step 1230)", Answered: true, Step: ptr(int64(1200)),
			Each: Duration(50 * time.Millisecond), Within: Duration(20 * time.Second), Served: true},
		Outcome: &outcome, OutcomeRev: 99, Checkpoints: &Checkpoints{Asked: 4, Steps: []int64{20, 10}, Reached: ptr(int64(20)), Cut: ptr(int64(30))}, Step: ptr(int64(0)),
		Host: "gpu-7", Sick: "GPU 3 is lost",
		ReadSeq: 16, Next: 5, ReopenSeq: 15, Replaces: &Farewell{Incarnation: "i0", Round: 2}, Carried: job,
	}
}

func fullRound() *Round {
	return &Round{
		V: 1, Store: "8e9e05c52164694d", RunUID: "u1", Number: 3, MasterAddr: "a.svc", MasterPort: 29500, At: at,
		Fence: Duration(time.Minute), Resume: Resume{Decision: ResumeFallback, Step: ptr(int64(10)), Why: "why"}, MemberList: "8e9e05c5",
		Members: []Member{{Name: "a", Incarnation: "i0", Slots: 8}, {Name: "b", Incarnation: "i1", Slots: 8, Role: "worker", BootID: "boot", PIDNS: "4026531836", Unique: true, Host: "gpu-7"}},
	}
}

func fullControl() *Control {
	return &Control{V: 1, ID: "c1", Verb: VerbRestart, RunUID: "u1", Round: ptr(0), Host: "gpu-7", By: "jane", At: at}
}

func fullHost() *Host {
	return &Host{
		V: 1, Points: 3, At: at, Round: 3, Banned: true,
		Faults: []Fault{{Round: 3, Node: "b", Reason: "NodeUnhealthy", Message: "GPU 3 is lost", At: at}},
	}
}

func fullReached() *Reached {
	return &Reached{V: 1, Round: 3, Step: ptr(int64(1200)), Phase: "checkpoint", Checkpoint: ptr(int64(1000)), Still: true, Busy: "checkpoint",
		Own: &OwnTime{Minute: 7, Usec: 102_000, Step: 250_000, Steps: 240, Rank: 5, RankUsec: 131_000}}
}

// TestGolden guards the form of the records: nodes of different releases and the command line read them.
func TestGolden(t *testing.T) {
	golden(t, "job", fullJob(), ParseJob)
	golden(t, "round", fullRound(), ParseRound)
	golden(t, "node", fullNode(), ParseNode)
	golden(t, "control", fullControl(), ParseControl)
	golden(t, "progress", fullReached(), ParseReached)
	golden(t, "host", fullHost(), ParseHost)
}

func golden[R Job | Round | Node | Control | Reached | Host](t *testing.T, name string, r *R, parse func(string, []byte) (*R, error)) {
	t.Helper()
	// A field that a test record does not set would not be guarded.
	if fields := unset("", reflect.ValueOf(*r)); len(fields) > 0 {
		t.Errorf("%s: not set in the test's record: %v", name, fields)
	}
	line, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := parse(name, line)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, r) {
		t.Errorf("%s: read back as\n%+v, want\n%+v", name, back, r)
	}
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, line, "", "  ")
	pretty.WriteByte('\n')
	file := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, pretty.Bytes()) {
		t.Errorf("%s differs from %s; if that is meant: go test -update\n%s", name, file, pretty.Bytes())
	}
}

// unset lists the fields of a record that are zero.
func unset(path string, v reflect.Value) (list []string) {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() {
			list = append(list, path+v.Type().Field(i).Name)
		}
	}
	return list
}

func TestParseRefuses(t *testing.T) {
	job, _ := Encode(fullJob())
	node, _ := Encode(fullNode())
	round, _ := Encode(fullRound())
	control, _ := Encode(fullControl())
	host, _ := Encode(fullHost())
	change := func(b []byte, old, new string) string {
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("no %s in %s", old, b)
		}
		return strings.Replace(string(b), old, new, 1)
	}
	long := strings.Repeat("x", maxName+1)
	for name, tc := range map[string]struct{ kind, text, says string }{
		"empty":                 {"job", "", "job: unexpected end"},
		"null":                  {"job", "null", `the key "v" is missing`},
		"no version":            {"job", "{}", `the key "v" is missing`},
		"a future version":      {"job", change(job, `"v":1`, `"v":2`), "job: version 2, only version 1 can be read"},
		"a future format":       {"job", `{"v":7,"phase":12}`, "version 7"},
		"another type":          {"job", change(job, `"phase":"Failed"`, `"phase":7`), "job: json"},
		"another phase":         {"job", change(job, `"phase":"Failed"`, `"phase":"Odd"`), "Odd"},
		"an end while running":  {"job", change(job, `"phase":"Failed"`, `"phase":"Running"`), "an end belongs"},
		"rounds out of order":   {"job", change(job, `"next":4`, `"next":3`), "want -1 <= round < next"},
		"an absurd spec":        {"job", change(job, `"maxNodes":4`, `"maxNodes":1000000`), "4096"},
		"an end by nobody":      {"job", change(job, `"by":{"name":"a"`, `"by":{"name":""`), "end by name"},
		"an end by a long name": {"job", change(job, `"by":{"name":"a"`, `"by":{"name":"`+long+`"`), "1 to 256"},
		"a negative time":       {"job", change(job, `"ttl":"1h0m0s"`, `"ttl":"-1h"`), "a time of -1h"},
		"a time without a unit": {"job", change(job, `"ttl":"1h0m0s"`, `"ttl":"3600"`), "is no duration"},
		"too large":             {"job", strings.Repeat(" ", maxJobBytes) + string(job), "at most 131072 are read"},
		"two values":            {"job", string(job) + "{}", "after top-level value"},
		"no members":            {"rounds/3", change([]byte(change(round, `"memberList":`, `"y":`)), `"members":[`, `"members":[],"x":[`), "0 members"},
		"a member twice":        {"rounds/3", change(round, `"name":"a"`, `"name":"b"`), `"b" is there twice`},
		"a long content":        {"rounds/3", change(round, `"decision":"fallback"`, `"decision":"fallback","identity":"`+long+`"`), "longer than 256"},
		"no fence":              {"rounds/3", change(round, `"fence":"1m0s"`, `"fence":"0s"`), "fence 0s"},
		"no incarnation":        {"nodes/b", change(node, `"incarnation":"i1"`, `"incarnation":""`), "nodes/b:"},
		"a name with a newline": {"nodes/b", change(node, `"incarnation":"i1"`, `"incarnation":"i\n1"`), "printable"},
		"a long name":           {"nodes/b", change(node, `"incarnation":"i1"`, `"incarnation":"`+long+`"`), "1 to 256"},
		"a long address":        {"nodes/b", change(node, `"address":"b.svc"`, `"address":"`+long+`"`), "longer than 256"},
		"another state":         {"nodes/b", change(node, `"state":"stopped"`, `"state":"odd"`), "waiting, running"},
		"no slots":              {"nodes/b", change(node, `"slots":8`, `"slots":0`), "0 slots"},
		"a port":                {"nodes/b", change(node, `"port":29501`, `"port":99999`), "port 99999"},
		"a bad record brought":  {"nodes/b", change(node, `"brings":{"v":1`, `"brings":{"v":3`), "brings a record of version 3"},
		"too many checkpoints":  {"nodes/b", change(node, `"steps":[20,10]`, `"steps":[1`+strings.Repeat(",1", maxCheckpoints)+`]`), "1025 checkpoints with a step"},
		"too many identities": {"nodes/b", change(node, `"steps":[20,10]`, `"identities":["a"`+strings.Repeat(`,"a"`, maxCheckpoints)+`]`),
			"and 1025 without, at most 1024"},
		"a long identity":        {"nodes/b", change(node, `"steps":[20,10]`, `"identities":["`+long+`"]`), "1 to 256"},
		"an identity of nothing": {"nodes/b", change(node, `"steps":[20,10]`, `"identities":[""]`), "1 to 256"},
		"a long unit":            {"nodes/b", change(node, `"steps":[20,10]`, `"unit":"`+long+`"`), "1 to 256"},
		"another verb":           {"control/c1", change(control, `"verb":"restart"`, `"verb":"explode"`), "suspend, resume, restart, stop"},
		"unban of nothing":       {"control/c1", change([]byte(change(control, `"verb":"restart"`, `"verb":"unban"`)), `"host":"gpu-7"`, `"host":""`), "unban of host"},
		"sizes out of order":     {"job", change(job, `"sizes":[2,4]`, `"sizes":[4,2]`), "rising numbers"},
		"a size twice":           {"job", change(job, `"sizes":[2,4]`, `"sizes":[2,2,4]`), "rising numbers"},
		"sizes beyond the most":  {"job", change(job, `"sizes":[2,4]`, `"sizes":[2,8]`), "rising numbers"},
		"a score below nothing":  {"hosts/h", change(host, `"score":3`, `"score":-1`), "score -1"},
		"a ban of nobody":        {"job", change(job, `"host":"gpu-7"`, `"host":""`), "ban of host"},
		"too many faults":        {"hosts/h", change(host, `"faults":[`, `"faults":[{},{},{},{},`), "5 faults"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			switch b := []byte(tc.text); {
			case tc.kind == "job":
				_, err = ParseJob(tc.kind, b)
			case strings.HasPrefix(tc.kind, "rounds"):
				_, err = ParseRound(tc.kind, b)
			case strings.HasPrefix(tc.kind, "nodes"):
				_, err = ParseNode(tc.kind, b)
			case strings.HasPrefix(tc.kind, "hosts"):
				_, err = ParseHost(tc.kind, b)
			default:
				_, err = ParseControl(tc.kind, b)
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.HasPrefix(err.Error(), tc.kind+": ") {
				t.Errorf("error %v, want one of %s about %q", err, tc.kind, tc.says)
			}
		})
	}
}

func TestTheLargestRoundFitsIntoARequest(t *testing.T) {
	r := fullRound()
	r.Members = nil
	for range 4096 {
		r.Members = append(r.Members, Member{
			Name: "training-job-with-a-long-name-worker-" + time.Duration(len(r.Members)).String(), Incarnation: "0123456789abcdef",
			Slots: 8, Role: "worker", BootID: "01234567-0123-0123-0123-0123456789ab", PIDNS: "4026531836", Unique: true,
		})
	}
	b, _ := Encode(r)
	if _, err := ParseRound("rounds/3", b); err != nil || len(b) > 1<<20 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestCutKeepsWholeCharacters(t *testing.T) {
	for _, s := range []string{strings.Repeat("ä", maxText), "x" + strings.Repeat("ä", maxText), "\xff" + strings.Repeat("a", maxText)} {
		if got := cut(s); len(got) > maxText || len(got) < maxText-3 || strings.ToValidUTF8(got, "") != got {
			t.Errorf("cut to %d bytes", len(got))
		}
	}
}

func fuzz[R Job | Round | Node | Control | MemberList | Reached | Host](f *testing.F, r *R, parse func(string, []byte) (*R, error)) {
	b, _ := Encode(r)
	f.Add(b)
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parse("key", b)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "key: ") {
				t.Errorf("the error does not name the key: %v", err)
			}
			return
		}
		again, err := Encode(r)
		if err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		back, err := parse("key", again)
		if err != nil {
			t.Fatalf("cannot be read again: %v\n%s", err, again)
		}
		if third, _ := Encode(back); !bytes.Equal(again, third) {
			t.Errorf("changes when it is read again:\n%s\n%s", again, third)
		}
	})
}

func FuzzParseJob(f *testing.F)   { fuzz(f, fullJob(), ParseJob) }
func FuzzParseRound(f *testing.F) { fuzz(f, fullRound(), ParseRound) }
func FuzzParseNode(f *testing.F)  { fuzz(f, fullNode(), ParseNode) }
func FuzzParseMemberList(f *testing.F) {
	fuzz(f, &MemberList{V: 1, Members: fullRound().Members}, ParseMemberList)
}
func FuzzParseReached(f *testing.F) { fuzz(f, fullReached(), ParseReached) }
func FuzzParseHost(f *testing.F)    { fuzz(f, fullHost(), ParseHost) }
func FuzzParseControl(f *testing.F) { fuzz(f, fullControl(), ParseControl) }

// TestAnotherReleasesOutcome: a record whose outcome only another release understands is read all the same: whether a node
// has stopped decides more than why.
func TestAnotherReleasesOutcome(t *testing.T) {
	node := Node{V: 1, Store: "s", Incarnation: "a#1", RunUID: "u", Slots: 1, State: NodeStopped, Round: 3}
	job := Job{V: 1, Store: "s", RunUID: "u", Phase: Stopping, Round: 3, NextRound: 4, Spec: DefaultSpec(2), Stop: &Stop{Round: 3, Kind: StopFailure}}
	node.Carried = &job
	for name, o := range map[string]Outcome{
		"a verdict":    {Store: "s", RunUID: "u", Round: 3, Verdict: "hibernated"},
		"no verdict":   {Store: "s", RunUID: "u", Round: 3, Role: "root"},
		"other words":  {Store: "s", RunUID: "u", Round: 3, Said: &Said{Verdict: "hibernated"}},
		"a long story": {Store: "s", RunUID: "u", Round: 3, Verdict: exitcodes.Fatal, Evidence: strings.Repeat("x", 2*maxText)},
	} {
		node.Outcome, job.Stop.Outcome = &o, &o
		b, err := Encode(&node)
		if err != nil {
			t.Fatal(err)
		}
		n, err := ParseNode("nodes/a", b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, err = Encode(&job); err != nil {
			t.Fatal(err)
		}
		j, err := ParseJob("job", b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, got := range []*Outcome{n.Outcome, n.Carried.Stop.Outcome, j.Stop.Outcome} {
			if got.Verdict != exitcodes.Retry || got.Round != 3 || got.RunUID != "u" || got.Store != "s" || got.role() != exitcodes.RoleNone ||
				!strings.Contains(got.Message, "another release") {
				t.Errorf("%s: %+v", name, *got)
			}
		}
	}
}
