package exitcodes

import (
	"strings"
	"testing"
)

// TestUnprinted has another exception come while Python prints a traceback.
func TestUnprinted(t *testing.T) {
	began := []string{
		"step 11 loss 0.167", "Traceback (most recent call last):", `  File "/app/train.py", line 468, in <module>`, "    main()",
		`  File "/usr/lib/python3.11/multiprocessing/connection.py", line 215, in recv_bytes`, "    buf = self._recv_bytes(maxlength)",
	}
	all := Outcome{Rank: -1, LocalRank: -1, Status: Status{Code: 1}, Output: []byte("step 11 loss 0.167\nTraceback (most recent call last):\n" +
		"object address  : 0x7f5bb15d88e0\nobject refcount : 2\nobject type     : 0x9f0c60\nobject type name: EOFError\nobject repr     : EOFError()\nlost sys.stderr\n")}
	if f := Judge(all, BuiltinRules()); f.Verdict != Retry || f.Reason != "ChildKilled" {
		t.Errorf("nothing of the traceback: %s %s: %s", f.Verdict, f.Reason, f.Message)
	}
	for _, tt := range []struct {
		dump    []string
		verdict Verdict
		says    string
	}{
		{[]string{"          ^^object address  : 0x7ff33b2bd240", "object refcount : 2", "object type     : 0x9ec680", "object type name: ConnectionResetError",
			"object repr     : ConnectionResetError(104, 'Connection reset by peer')", "lost sys.stderr"}, Retry, "ConnectionResetError: [Errno 104] Connection reset by peer"},
		{[]string{"object address  : 0x7f15c7b2b1c0", "object refcount : 4", "object type     : 0x9d9da0", "object type name: RuntimeError",
			`object repr     : RuntimeError('DataLoader worker (pid 2993) is killed by signal: Killed. ')`, "lost sys.stderr"}, Retry, "RuntimeError: DataLoader worker (pid 2993) is killed by signal: Killed."},
		{[]string{"object address  : 0x7f15c7b2b1c0", "object refcount : 4", "object type     : 0x9d9da0", "object type name: KeyError",
			"object repr     : KeyError('caption')", "lost sys.stderr"}, Fatal, "KeyError: caption"},
		{[]string{"object address  : 0x7f5bb15d88e0", "object refcount : 2", "object type     : 0x9f0c60", "object type name: EOFError",
			"object repr     : EOFError()", "lost sys.stderr"}, Retry, "EOFError"},
		{[]string{"object address  : 0x7f15c7b2b1c0", "object refcount : 4", "object type     : 0x9d9da0", "object type name: dict",
			"object repr     : {'a': connect(1)}", "lost sys.stderr"}, Fatal, "exited 1"},
	} {
		o := exited(1)
		o.Output = []byte(strings.Join(append(began[:len(began):len(began)], tt.dump...), "\n") + "\n")
		f := Judge(o, BuiltinRules())
		if f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) || strings.Contains(f.Message, "lost sys.stderr") {
			t.Errorf("%s by %q: %s, want %s: %s", f.Verdict, f.Rule, f.Message, tt.verdict, tt.says)
		}
	}
}
