package exitcodes

import (
	"fmt"
	"strings"
	"testing"
)

// TestReportOutlived has torchrun's report in a file to which a later run has written, too: it counts where nothing else ended
// after it.
func TestReportOutlived(t *testing.T) {
	steps := ""
	for i := range 9 {
		steps += fmt.Sprintf("step %d loss %d.5\n", i, 9-i)
	}
	const (
		bug    = "ValueError: heads must divide hidden"
		reset  = "ConnectionResetError: [Errno 104] Connection reset by peer"
		hangup = "torch.distributed.elastic.multiprocessing.api.SignalException: Process 99 got signal: 1"
	)
	failed := func(why string) string { return wrap(why) + report(failure(0, 1, 34, "")) }
	for name, tt := range map[string]struct {
		printed string
		want    Verdict
		says    string
	}{
		"another run, hung up":         {failed(bug) + steps + wrap(hangup), Preempted, "got signal: 1"},
		"another, that lost a peer":    {failed(bug) + steps + wrap(reset), Retry, "reset by peer"},
		"another, with a bug":          {failed(reset) + steps + wrap(bug), Fatal, bug},
		"another, with a report":       {failed(reset) + steps + failed(bug), Fatal, bug},
		"what was kept in a buffer":    {failed(bug) + steps, Fatal, bug},
		"a launcher's own end":         {failed(bug) + wrap("subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1."), Fatal, bug},
		"steps before it, none behind": {steps + failed(bug) + "srun: error: n1: task 0: Exited with exit code 1\n", Fatal, bug},
	} {
		o := exited(1)
		o.Output = []byte(tt.printed)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}
