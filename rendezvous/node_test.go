package rendezvous

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gangrun/gangrun/exitcodes"
)

// staysHere are the parts of a finding that other nodes are not told, and why.
var staysHere = map[string]string{
	"Other":   "the other candidate is for the message of this node",
	"Unknown": "is for this node's log",
	"Output":  "is for this node's message, and too long",
	"Node":    "is the record's key",
	"told":    "compares the ranks of one launcher's report",
}

// TestFindingCrosses has every part of a finding told to the others as it is, or named as one that stays.
func TestFindingCrosses(t *testing.T) {
	one := 1
	f := exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: "Reason", Message: "message", Code: 137, Role: exitcodes.RoleRoot,
		Rule: "rule", Evidence: "evidence", Rank: 3, LocalRank: 1, ExitCode: &one, Signal: 9, WorkerCode: &one,
		At: time.Unix(1, 0).UTC(), CodeOverridden: true, NodeFault: true, Names: []int{3, 7}, Hosts: []string{"10.0.0.7"}, Said: &exitcodes.Finding{
			Verdict: exitcodes.Retry, Reason: "Reason", Code: 210, Role: exitcodes.RoleRoot, Rule: "rule", Evidence: "evidence",
			Rank: 5, LocalRank: 2, CodeOverridden: true, Message: "rank 5 was stopped when it had failed already: evidence",
		},
	}
	o := OutcomeOf(f, "store", "run", 2)
	told := o.Finding()
	v, w := reflect.ValueOf(f), reflect.ValueOf(told)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch _, stays := staysHere[name]; {
		case stays:
		case v.Field(i).IsZero():
			t.Errorf("%s is not tried here, nor said to stay", name)
		case !reflect.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()):
			t.Errorf("%s is lost: %v", name, w.Field(i))
		}
	}
}

// TestSaidIsBounded has what a node tells of others fit into its record, whatever a worker has printed, and refuses one that
// does not.
func TestSaidIsBounded(t *testing.T) {
	long := strings.Repeat("\u00e4", 1000)
	f := exitcodes.Finding{Role: exitcodes.RoleCascade, Verdict: exitcodes.Retry, Said: &exitcodes.Finding{
		Verdict: exitcodes.Fatal, Code: 1, Role: exitcodes.RoleRoot, Reason: long, Rule: long, Evidence: long,
	}}
	for i := range 40 {
		f.Names, f.Hosts = append(f.Names, i), append(f.Hosts, "h")
	}
	o := OutcomeOf(f, "store", "run", 0)
	if err := o.check(); err != nil {
		t.Error(err)
	}
	if len(o.Names) != 16 || len(o.Hosts) != 4 || len(o.Said.Rule) > 64 || len(o.Said.Evidence) > 300 || !utf8.ValidString(o.Said.Evidence) {
		t.Errorf("%d names, a rule of %d bytes, evidence of %d", len(o.Names), len(o.Said.Rule), len(o.Said.Evidence))
	}
	f.Said.Role = exitcodes.RoleSuspect
	if o := OutcomeOf(f, "store", "run", 0); o.Said != nil {
		t.Errorf("%+v is no root cause", o.Said)
	}
	for name, spoil := range map[string]func(*Outcome){
		"neither a verdict nor":  func(o *Outcome) { o.Verdict, o.Said = "", nil },
		"said: verdict":          func(o *Outcome) { o.Said.Verdict = exitcodes.Success },
		"said: a reason":         func(o *Outcome) { o.Said.Evidence = long },
		"more than 4 hosts":      func(o *Outcome) { o.Hosts = make([]string, 5) },
		"or one of more than 64": func(o *Outcome) { o.Hosts = []string{strings.Repeat("h", 65)} },
		"41 ranks are named":     func(o *Outcome) { o.Names = make([]int, 41) },
	} {
		o, said := o, *o.Said
		o.Said = &said
		spoil(&o)
		if err := o.check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}
