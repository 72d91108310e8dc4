package supervisor

import (
	"bytes"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/evidence/stacks"
)

// crashes are the signals by which the processor or the kernel ends a program for what it did, and what faulthandler calls them.
var crashes = map[unix.Signal]string{
	unix.SIGSEGV: "Segmentation fault", unix.SIGBUS: "Bus error", unix.SIGFPE: "Floating", unix.SIGILL: "Illegal instruction",
}

// judge judges how a worker has ended. Where a crash is all there is to say of it, where it stood in Python is said, too.
func judge(o exitcodes.Outcome, rules *exitcodes.Rules) exitcodes.Finding {
	f := exitcodes.Judge(o, rules)
	name, killed := crashes[unix.Signal(f.Signal)], "was killed by "+exitcodes.SignalName(f.Signal)
	if name == "" || !strings.HasSuffix(f.Message, killed) {
		return f
	}
	dump, _ := stacks.Find(o.Output)
	if title, _, _ := bytes.Cut(dump, []byte("\n")); !bytes.Contains(title, []byte(name)) {
		return f
	}
	if where := stacks.Took(stacks.Parse(dump)).Stands(); where != "" {
		f.Message += " in " + where
	}
	return f
}
