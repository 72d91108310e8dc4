package exitcodes

import "testing"

// TestWhatEndedNothing reads what looks like the end of a program and is not: each beside one that is.
func TestWhatEndedNothing(t *testing.T) {
	const (
		recv  = "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    main()\n  File \"/usr/lib/python3.12/multiprocessing/connection.py\", line 383, in _recv\n    raise EOFError\nEOFError\n"
		fds   = "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    main()\n  File \"/usr/lib/python3.12/multiprocessing/reduction.py\", line 159, in recvfds\n    raise EOFError\nEOFError\n"
		torn  = "[rank4]: Traceback (most recent call last):\n[rank4]:   File \"t.py\", line 1, in <module>\n[rank4]:     save()\n[rank4]: RuntimeError: [enforce fail at inline_container.cc:664] . unexpected pos 704 vs 598\n"
		full  = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"t.py\", line 1, in <module>\n[rank1]:     save()\n[rank1]: OSError: [Errno 28] No space left on device\n"
		stdin = "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    input()\nEOFError\n"
		began = "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n  File \"/usr/lib/python3.12/multiprocessing/spawn.py\", line 122, in spawn_main\n    exitcode = _main(fd, parent_sentinel)\nEOFError: Ran out of input\n"
		dash  = "--------------------------------------------------------------------------\n"
		ssh   = "ssh: connect to host w1 port 22: Connection refused\n"
	)
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		reason  string
	}{
		"a pipe to a process that is gone":              {recv, Retry, "ChildKilled"},
		"a file handle from a process that is gone":     {fds, Retry, "ChildKilled"},
		"a torn write, and a full disk on another rank": {torn + full, Fatal, "DiskFull"},
		"a full disk, and a torn write on another rank": {full + torn, Fatal, "DiskFull"},
		"a torn write":                          {torn, Retry, "CheckpointWriteFailed"},
		"standard input that is empty":          {stdin, Fatal, ReasonError},
		"a child without a parent":              {"KeyError: 'x'\n" + began, Fatal, "CodeError"},
		"a child with one, as far as one knows": {"Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    pickle.load(f)\nEOFError: Ran out of input\n", Fatal, "DataCorrupt"},
		"a box of prterun's":                    {"[n1][[59259,1],0][btl_tcp_endpoint.c:857:start_connect] peer: n2 Unable to connect to the peer 10.0.0.2 on port 1024: No route to host\n" + dash + "prterun has exited due to process rank 0 with PID 0 on node n1 calling\n\"abort\". This may have caused other processes in the application to be\nterminated by signals sent by prterun (as reported here).\n" + dash, Retry, ReasonPeerUnreachable},
		"advice that is noise":                  {ssh + dash + "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n* not finding the required libraries\n" + dash, Retry, ReasonPeerUnreachable},
		"a program's own box":                   {ssh + dash + "error: the number of layers must divide by 4\n" + dash, Fatal, ReasonError},
		"another program's words":               {ssh + "error: the number of layers must divide by 4\n", Fatal, ReasonError},
		"a program's words about its own":       {"rsync: read error: Connection reset by peer (104)\nrsync error: error in protocol (code 12)\n", Retry, ReasonPeerLost},
		"what it says of itself later":          {"push to h:1 failed: Connection refused\nconf.yaml: line 14: unknown field\n", Fatal, ReasonError},
		"advice at the end":                     {"pull from h:1 failed: Connection refused\nSee the manual.\n", Retry, ReasonPeerUnreachable},
		"leave that is taken":                   {"pull from h:1 failed: Connection refused\nexiting now\n", Retry, ReasonPeerUnreachable},
		"its last try":                          {"WARNING: Retrying (Retry(total=0, connect=None)) after connection broken: Connection refused\nERROR: no such package\n", Retry, ReasonPeerLost},
		"its last try, without a level":         {"Retrying (Retry(total=0, connect=None)) after connection broken: Failed to establish a new connection: [Errno 101] Network is unreachable\nChecking versions ...\n", Retry, ReasonPeerUnreachable},
		"a try before it":                       {"WARNING: Retrying (Retry(total=1, connect=None)) after connection broken: Connection refused\nERROR: no such package\n", Fatal, ReasonError},
		"a heading without its traceback":       {"ValueError: 7\nException ignored in: <function f>\n", Fatal, ReasonError},
	} {
		t.Run(name, func(t *testing.T) {
			f := judged(tt.output)
			if f.Verdict != tt.verdict || f.Reason != tt.reason {
				t.Errorf("%s, %s by %s: %s", f.Verdict, f.Reason, f.Rule, f.Message)
			}
		})
	}
	o := exited(1).printing("ValueError: 7", "Exception ignored in: <function f>")
	if r := Read(o, Judge(o, BuiltinRules()), BuiltinRules()); len(r.Noise) != 1 {
		t.Errorf("the heading is no noise: %+v", r)
	}
}
