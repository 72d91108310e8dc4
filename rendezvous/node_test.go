package rendezvous

import (
	"reflect"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// staysHere are the parts of a finding that other nodes are not told, and why.
var staysHere = map[string]string{
	"Other":   "the other candidate is for the message of this node",
	"Names":   "are ranks that were already weighed on this node",
	"Said":    "is told instead of the finding, as a finding of its own",
	"Unknown": "is for this node's log",
	"Output":  "is for this node's message, and too long",
	"Node":    "is the record's key",
}

// TestFindingCrosses has every part of a finding told to the others as it is, or named as one that stays.
func TestFindingCrosses(t *testing.T) {
	one := 1
	f := exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: "Reason", Message: "message", Code: 137, Role: exitcodes.RoleRoot,
		Rule: "rule", Evidence: "evidence", Rank: 3, LocalRank: 1, ExitCode: &one, Signal: 9, WorkerCode: &one,
		At: time.Unix(1, 0).UTC(), CodeOverridden: true, NodeFault: true,
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
