package exitcodes

import "testing"

// TestReclaimed has whoever lends a machine take it back, and programs that only speak of it.
func TestReclaimed(t *testing.T) {
	const (
		watcher = "spot watcher: will save when an interruption notice received\n"
		notice  = "Received a spot interruption notice\n"
		raised  = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n"
		lost    = "ConnectionResetError: [Errno 104] Connection reset by peer\n"
		wrapped = "subprocess.CalledProcessError: Command '['python','prep.py']' returned non-zero exit status 2.\n"
	)
	wantVerdicts(t, map[string]printed{
		"it is taken back":             {notice + "saving\nsaved\n", Preempted},
		"said at the end":              {"step 3\ninstance is being reclaimed, leaving with status 1\n", Preempted},
		"a watcher, and an exception":  {watcher + raised + "RuntimeError: the run has no data\n", Fatal},
		"a watcher, and a child":       {watcher + raised + wrapped, Fatal},
		"a watcher, and plain words":   {watcher + "loading /data/train\nsome shard is bad\n", Fatal},
		"a watcher, and a check":       {watcher + "model.cpp:12: Check failed: dim == 512\n", Fatal},
		"a notice, and an exception":   {notice + raised + "RuntimeError: the run has no data\n", Fatal},
		"a notice, and a child":        {notice + raised + wrapped, Fatal},
		"a notice, and another error":  {notice + "ERROR: no such key model.layers\n", Fatal},
		"a notice, and a lost peer":    {notice + raised + lost, Preempted},
		"a notice to another rank":     {"[rank3]: Received a spot interruption notice\n[rank1]: ConnectionResetError: [Errno 104] Connection reset by peer\n", Retry},
		"a notice long ago":            {notice + "step 1 loss 2.1\nstep 2 loss 2.0\nstep 3 loss 1.9\nstep 4 loss 1.8\n" + raised + lost, Retry},
		"when it would be":             {"this instance will be terminated when training ends\nMissing --data\n", Fatal},
		"a handler that is registered": {"Registered handler: on interruption notice received we save\nMissing --data\n", Fatal},
	})
}
