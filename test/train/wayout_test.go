package train_test

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestKilledOnTheWayOut has a rank's interpreter crash while it goes down after an exception: that one is the cause, whether
// it stands in the rank's output, in its error file or in torchrun's report. One that the rank has got over is not.
func TestKilledOnTheWayOut(t *testing.T) {
	for _, tt := range []struct {
		launcher, how, kept, signal string
		code                        int
		verdict                     exitcodes.Verdict
		evidence                    string
	}{
		{"torchrun", "wayout", "record", "SIGABRT", 1, exitcodes.Fatal, "ValueError: the cause"},
		{"torchrun", "wayout", "printed", "SIGSEGV", 1, exitcodes.Fatal, "ValueError: the cause"},
		{"launch", "wayout", "record", "SIGSEGV", 1, exitcodes.Fatal, "ValueError: the cause"},
		{"launch", "wayout", "printed", "SIGABRT", 1, exitcodes.Fatal, "ValueError: the cause"},
		{"launch", "got over", "record", "SIGSEGV", 139, exitcodes.Retry, "was killed by SIGSEGV"},
	} {
		t.Run(strings.Join([]string{tt.launcher, tt.how, tt.kept, tt.signal}, " "), func(t *testing.T) {
			parallel(t)
			program := []string{harness.Script(t, "wayout.py"), tt.how, tt.kept, tt.signal}
			j := harness.Job{Flags: []string{"--no-restart"}, Env: one}
			if tt.launcher == "launch" {
				j.Verb = "launch"
				j.Flags = append(j.Flags, "--standalone", "--nproc-per-node", "2", "--no-python")
				j.Worker = append([]string{harness.Peer(t, "torch/bin/python3")}, program...)
			} else {
				j.Worker = torchrun(t, "2", program[0], program[1:]...)
			}
			e := j.Run(t, limit)
			e.Want(t, tt.code, tt.verdict, map[int]string{1: "Error", 139: "KilledBySIGSEGV"}[tt.code])
			blames(t, e, 1)
			if e.Signal != tt.signal || !strings.Contains(e.RootCause.Evidence, tt.evidence) {
				t.Errorf("signal %q, evidence %q", e.Signal, e.RootCause.Evidence)
			}
		})
	}
}
