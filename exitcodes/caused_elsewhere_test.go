package exitcodes

import (
	"strings"
	"testing"
)

// TestCausedElsewhere has a program end of an exception that another line explains: a child's, a command's, the record of what failed.
func TestCausedElsewhere(t *testing.T) {
	const (
		frames = "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    f()\n"
		crash  = "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f0a7d8ae740 (most recent call first):\n  File \"/v/sim.py\", line 645 in get\n  File \"/usr/lib/python3.8/multiprocessing/process.py\", line 108 in run\n  ...\n"
		pipe   = frames + "  File \"/usr/lib/python3.8/multiprocessing/connection.py\", line 383, in _recv\n    raise EOFError\nEOFError\n"
		read   = frames + "OSError: ((\"curl --retry 5 -s -L https://h/a.tar\",), {'shell': True, 'bufsize': 8192}): exit 56 (read) {'url': 'https://h/a.tar'}\n"
		pg     = "psycopg2.OperationalError: connection to server at \"db\" (10.0.0.5), port 5432 failed: FATAL:  remaining connection slots are reserved for non-replication superuser connections\n\n"
		caught = "Traceback (most recent call last):\n  File \"/v/sqlalchemy/engine/base.py\", line 146, in __init__\n    connect()\n" + pg + "\n" + chainedCause + ":\n\n"
		notice = "[node-agent] 2024-12-19T04:51:20Z WARN Spot instance interruption notice: instance-action: terminate at 2024-12-19T04:53:18Z\n"
		reset  = frames + "ConnectionResetError: [Errno 104] Connection reset by peer\n"
		gated  = "401 Client Error. (Request ID: Root=1-6631a0d1-5f2a7b1c0a6b)"
	)
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		says    string
	}{
		"a child that crashed":                     {crash + pipe, Retry, "Segmentation fault"},
		"a child, long before":                     {crash + "restarting the simulator with 8 workers\n" + pipe, Retry, "EOFError"},
		"the command that is named":                {"curl: (56) OpenSSL SSL_read: Connection reset by peer, errno 104\n" + read, Retry, "SSL_read"},
		"another command":                          {"wget: unable to resolve host address 'h'\n" + read, Retry, "exit 56"},
		"a chain that a logger had begun":          {"[W 2024-05-02 22:31:09,412] Trial 219 failed with parameters: {} because of the following error: StorageInternalError('odd').\n" + caught + frames + "sqlalchemy.exc.OperationalError: (" + strings.TrimSpace(strings.Replace(pg, ":", ")", 1)) + "\n\n(Background on this error at: https://sqlalche.me/e/20/e3q8)\n", Retry, "connection slots"},
		"a request and its number":                 {frames + "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://h/m.\n" + gated + "\n\nCannot access gated repo for url https://h/m/resolve/main/config.json.\nAccess to model m is restricted. You must be authenticated to access it.\n", Fatal, "Cannot access gated repo"},
		"an exporter's warning after it":           {"{\"level\":\"error\",\"ts\":\"2024-10-14T06:41:52.801Z\",\"msg\":\"batch aborted\",\"error\":\"infer: 5 attempts: rpc error: code = Unavailable desc = connection error: desc = refused\"}\n{\"level\":\"warn\",\"ts\":\"2024-10-14T06:41:53.002Z\",\"msg\":\"traces export: context deadline exceeded: rpc error: code = DeadlineExceeded desc = stream terminated\"}\n{\"level\":\"info\",\"ts\":\"2024-10-14T06:41:53.003Z\",\"msg\":\"bye\"}\n", Retry, "code = Unavailable"},
		"the class alone, and before it the whole": {"Client: diagnostics: User class threw exception: org.apache.hadoop.security.AccessControlException: Permission denied: user=a, access=WRITE\n\tat a.b(C.java:7)\nERROR Client: Application diagnostics message: User class threw exception: org.apache.hadoop.security.AccessControlException\n", Fatal, "Permission denied"},
		"a machine that is taken back":             {notice + "[train] caught signal 15, finishing current step\n" + reset, Preempted, "interruption notice"},
		"a bug while it is":                        {notice + "[train] caught signal 15, finishing current step\n" + frames + "KeyError: 'step'\n", Fatal, "KeyError"},
		"a pointer of Git LFS":                     {frames + "_pickle.UnpicklingError: invalid load key, 'v'.\n", Fatal, "load key"},
		"a page for a checkpoint":                  {frames + "_pickle.UnpicklingError: invalid load key, '<'.\n", Fatal, "load key"},
		"a checkpoint that is damaged":             {frames + "_pickle.UnpicklingError: invalid load key, '\\x00'.\n", Retry, "load key"},
	} {
		if f := Judge(exited(1).printing("Model has 124000000 parameters\n"+tt.output), BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
