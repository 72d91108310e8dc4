package exitcodes

import (
	"slices"
	"strings"
	"testing"
)

// TestServed has a file be missing after another failure in the same chain: where that was the file server's, it may be there.
func TestServed(t *testing.T) {
	const missing = "FileNotFoundError: [Errno 2] No such file or directory: '/mnt/x'"
	for name, tt := range map[string]struct {
		members []string
		want    Verdict
		says    string
	}{
		"by itself":              {[]string{missing}, Fatal, "FileNotFound"},
		"after a stale handle":   {[]string{"OSError: [Errno 116] Stale file handle", missing}, Retry, "StaleFileHandle"},
		"after an I/O error":     {[]string{"OSError: [Errno 5] Input/output error: '/mnt/x'", missing}, Retry, "InputOutputError"},
		"forbidden, after one":   {[]string{"OSError: [Errno 121] Remote I/O error", "PermissionError: [Errno 13] Permission denied: '/mnt/x'"}, Retry, "InputOutputError"},
		"two before it":          {[]string{"OSError: [Errno 116] Stale file handle", "KeyError: 'cache'", missing}, Retry, "StaleFileHandle"},
		"after a reset":          {[]string{"ConnectionResetError: [Errno 104] Connection reset by peer", missing}, Fatal, "FileNotFound"},
		"a bug after one":        {[]string{"OSError: [Errno 116] Stale file handle", "KeyError: 'cache'"}, Fatal, "CodeError"},
		"a full disk after one":  {[]string{"OSError: [Errno 116] Stale file handle", "OSError: [Errno 28] No space left on device"}, Fatal, "DiskFull"},
		"the server's came last": {[]string{missing, "OSError: [Errno 116] Stale file handle"}, Retry, "StaleFileHandle"},
	} {
		var parts []string
		for _, m := range tt.members {
			parts = append(parts, "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\n"+m+"\n")
		}
		o := exited(1)
		o.Output = []byte(strings.Join(parts, "\n"+chainedContext+":\n\n"))
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || f.Reason != tt.says {
			t.Errorf("%s: %s, %s by %q; want %s, %s", name, f.Verdict, f.Reason, f.Evidence, tt.want, tt.says)
		}
	}
}

func TestUnquoted(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"connection refused":              "connection refused",
		"literal: 'connection timed out'": "literal: ",
		`bad value "connection reset", want a name`: "bad value , want a name",
		"can't do: connection refused":              "can't do: connection refused",
		"'a' and 'b': connection refused":           " and : connection refused",
		"it's 'gone', isn't it":                     "it's , isn't it",
		"'never closed":                             "",
	} {
		if got := string(unquoted([]byte(text))); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestWhoseWords has wrappers that only say that a child or a part of the program failed, and what stands before them.
func TestWhoseWords(t *testing.T) {
	wrapped := func(line string) string {
		return "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\n" + line + "\n"
	}
	const (
		dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
		pipe = "OSError: (\"(('gsutil cat gs://b/0.tar',), {'shell': True}): exit 1 (read) {}\",)"
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"nothing before it":            {wrapped(dead), Fatal, "exited 1"},
		"a bug before it":              {wrapped("ZeroDivisionError: division by zero") + wrapped(dead), Fatal, "ZeroDivisionError"},
		"a lost peer before it":        {wrapped("ConnectionResetError: [Errno 104] Connection reset by peer") + wrapped(dead), Retry, "Connection reset"},
		"a child's line that passes":   {"ServiceException: 503 Backend Error\n" + wrapped(pipe), Retry, "503 Backend Error"},
		"a child's line that does not": {"ServiceException: 401 Anonymous caller does not have storage.objects.get access\n" + wrapped(pipe), Fatal, "exit 1 (read)"},
		"a line before an own error":   {"ServiceException: 503 Backend Error\n" + wrapped("RuntimeError: odd"), Fatal, "odd"},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, f.Verdict, f.Message, tt.want, tt.says)
		}
	}
}

// TestAccused has the words of one that waited in vain name who did not come.
func TestAccused(t *testing.T) {
	for text, want := range map[string][]int{
		"[rank1]:[E1122 12:00:00.1 ProcessGroupNCCL.cpp:616] [7] finished collective #182, but didn't join collective #183":                            {7},
		"[7] finished collective #182, but didn't join collective #183\n[9] finished collective #182, but didn't join collective #183":                 {7, 9},
		"RuntimeError: Rank 1 failed to pass monitoredBarrier in 60000 ms":                                                                             {1},
		"RuntimeError: [Rank 0]: Ranks 2, 3, 11 failed to pass monitoredBarrier in 60000 ms":                                                           {2, 3, 11},
		"UNAVAILABLE: Task /job:jax_worker/replica:0/task:37 heartbeat timeout. This indicates that the remote task has failed":                        {37},
		"E coordination_service.cc:1170] /job:jax_worker/replica:0/task:4 has been set to ERROR in coordination service: UNAVAILABLE":                  {4},
		"ABORTED: The following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:1\n/job:jax_worker/replica:0/task:2": {1, 2},
		"I coordination_service.cc:535] /job:jax_worker/replica:0/task:3 has connected to coordination service":                                        nil,
		"[0] Timeout at NCCL work: 183, last enqueued NCCL work: 183, last completed NCCL work: 182.":                                                  nil,
	} {
		o := killed(6)
		o.Output = []byte(text + "\n")
		if f := Judge(o, BuiltinRules()); !slices.Equal(f.Names, want) {
			t.Errorf("%q names %v, want %v", text, f.Names, want)
		}
	}
}

// TestHostsNamed has the words of one that lost a connection name the other end.
func TestHostsNamed(t *testing.T) {
	for text, want := range map[string][]string{
		"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:3469":                                                                                       {"10.0.0.7"},
		"RuntimeError: [enforce fail at gloo/transport/tcp/pair.cc:547] . Read error [fd00:10::7]:3469: Connection reset by peer":                                                                            {"fd00:10::7"},
		"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer gpu-17.cluster.local<43210>": {"gpu-17.cluster.local"},
		"ncclRemoteError: A call failed possibly due to a network error.\nLast error:\nsocketProgress: Connection closed by remote peer fe80::1%eth0<43210>":                                                 {"fe80::1"},
		"[W1122 12:00:00.1 socket.cpp:464] [c10d] recvValue failed on SocketImpl(fd=4, addr=[::ffff:10.0.0.5]:42510, remote=[::ffff:10.0.0.1]:29500): Connection reset by peer":                              {"10.0.0.1"},
		"RuntimeError: Connection closed by peer": nil,
		"the store listens on [10.0.0.1]:29500":   nil,
	} {
		o := exited(1)
		o.Output = []byte(text + "\n")
		if f := Judge(o, BuiltinRules()); !slices.Equal(f.Hosts, want) {
			t.Errorf("%q names %q, want %q", text, f.Hosts, want)
		}
	}
}

// TestLauncherNames has a launcher that ran the ranks tell of them: whom one names, and what one that it stopped had said,
// weigh as they do where gangrun runs the ranks itself.
func TestLauncherNames(t *testing.T) {
	raised := func(rank, what string) string {
		return "[rank" + rank + "]: Traceback (most recent call last):\n[rank" + rank + "]:   File \"t.py\", line 1, in <module>\n[rank" + rank + "]:     f()\n[rank" + rank + "]: " + what + "\n"
	}
	const desync = "[rank0]:[E1122 12:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=183, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n" +
		"[rank0]:[E1122 12:00:00.1 ProcessGroupNCCL.cpp:616] [9] finished collective #182, but didn't join collective #183\n"
	lost := raised("0", "ConnectionResetError: [Errno 104] Connection reset by peer")

	o := exited(1)
	o.Output = []byte(lost + raised("1", "KeyError: 'x'") + report(failure(1, -15, 2, noTraceback), failure(0, 1, 1, noTraceback)))
	if f := Judge(o, BuiltinRules()); f.Verdict != Fatal || f.Rank != 1 || f.Evidence != "KeyError: 'x'" || !strings.Contains(f.Message, "the other candidate: ConnectionResetError") {
		t.Errorf("%s of rank %d by %q: %s", f.Verdict, f.Rank, f.Evidence, f.Message)
	}
	o.Output = []byte(lost + raised("1", "ConnectionResetError: [Errno 104] Connection reset by peer") + report(failure(1, -15, 2, noTraceback), failure(0, 1, 1, noTraceback)))
	if f := Judge(o, BuiltinRules()); f.Verdict != Retry || f.Rank != 0 {
		t.Errorf("%s of rank %d by %q: %s", f.Verdict, f.Rank, f.Evidence, f.Message)
	}
	o.Output = []byte(desync + report(failure(1, 1, 2, noTraceback), failure(0, -6, 1, noTraceback)))
	if f := Judge(o, BuiltinRules()); !slices.Equal(f.Names, []int{9}) {
		t.Errorf("%v are named: %s", f.Names, f.Message)
	}
	o = killed(15)
	o.Stop, o.Output = StoppedByGang, []byte("step 1\n"+raised("3", "KeyError: 'x'"))
	if f := Judge(o, BuiltinRules()); f.Said == nil || f.Said.Rank != 3 || !strings.HasPrefix(f.Said.Message, "rank 3 was stopped") {
		t.Errorf("%+v", f.Said)
	}
}

// TestFamilies are exceptions that no rule knows, with others that are called nearly the same.
func TestFamilies(t *testing.T) {
	for line, want := range map[string]Verdict{
		"distributed.scheduler.KilledWorker: Attempted to run task 'load-1' on 4 different workers, but all those workers died while running it.": Retry,
		"google.auth.exceptions.TransportError: Failed to retrieve http://metadata.google.internal/computeMetadata/v1/token":                      Retry,
		"google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.":                                                Fatal,
		"mylib.MetadataError: Compute Engine Metadata server unavailable":                                                                         Retry,
		"ValueError: attention backend 'flash' is temporarily unavailable in eager mode":                                                          Fatal,
		"kubernetes.client.exceptions.ApiException: (503)":                                                                                        Retry,
		"kubernetes.client.exceptions.ApiException: (409)":                                                                                        Fatal,
		"RuntimeError: (503) samples were left out":                                                                                               Fatal,
		"neptune.exceptions.NeptuneConnectionLostException: \n\nThe connection was lost.":                                                         Retry,
		"mylib.LostException: the connection of layer 3 to layer 4":                                                                               Fatal,
		"mylib.DisallowedHostError: gpu1":                                                                                                         Fatal,
		"java.net.UnknownHostException: gpu1":                                                                                                     Retry,
		"psycopg2.OperationalError: FATAL:  password authentication failed for user \"u\"":                                                        Fatal,
		"psycopg2.OperationalError: server closed the connection unexpectedly":                                                                    Retry,
		"pymysql.err.OperationalError: (1045, \"Access denied for user 'u'@'h' (using password: YES)\")":                                          Fatal,
		"sqlite3.OperationalError: table runs has 11 columns but 7 values were supplied":                                                          Fatal,
		"sqlite3.OperationalError: table runs has no column named lr":                                                                             Fatal,
		"sqlite3.OperationalError: attempt to write a readonly database":                                                                          Fatal,
		"sqlite3.OperationalError: table runs already exists":                                                                                     Retry,
		"RuntimeError: RPCErr:1:RPC ran for more than set timeout (60000 ms) and will now be marked with an error":                                Retry,
		"RuntimeError: the sampler ran for more than 3 epochs":                                                                                    Fatal,
		"OSError: [Errno 26] Text file busy: '/bin/ptxas'":                                                                                        Retry,
		"OSError: [Errno 27] File too large: '/out'":                                                                                              Fatal,
	} {
		o := exited(1)
		o.Output = []byte("Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\n" + line + "\n")
		if f := Judge(o, BuiltinRules()); f.Verdict != want {
			t.Errorf("%s: %s by %s, want %s", line, f.Verdict, f.Rule, want)
		}
	}
}

// TestFields has a JSON object be printed over several lines, and source code that looks like one.
func TestFields(t *testing.T) {
	const (
		open   = "{\n  \"message\": {\n"
		end    = "    \"extraInfo\": {\"timestamp\": \"1700000000\"}\n  }\n}\n"
		raised = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f({\n"
	)
	wantVerdicts(t, map[string]printed{
		"an echo":                 {open + "    \"message\": \"RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.\",\n" + end, Retry},
		"four deep":               {open + "        \"message\": \"torch.distributed.DistNetworkError: Connection reset by peer\",\n" + end, Retry},
		"a bug":                   {open + "    \"message\": \"KeyError: 'loss'\",\n" + end, Fatal},
		"source in a traceback":   {raised + "      \"doc\": \"RendezvousConnectionError: The connection to the C10d store has failed.\",\nKeyError: 'loss'\n", Fatal},
		"source that is cut off":  {"      raise RendezvousConnectionError(\n    \"The connection to the C10d store has failed\"\nKeyError: 'loss'\n", Fatal},
		"a field in no traceback": {open + "    \"state\": \"RUNNING\",\n" + end, Fatal},
	})
}

// TestFull has a checkpoint not be written after somebody else than its exception's chain had said that the disk was full.
func TestFull(t *testing.T) {
	const (
		raised = "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\n"
		thread = "Exception in thread Thread-3 (_write):\nTraceback (most recent call last):\n  File \"w.py\", line 8, in _write\n    f.write(b)\n"
		full   = "OSError: [Errno 28] No space left on device\n"
		quota  = "OSError: [Errno 122] Disk quota exceeded\n"
		failed = "RuntimeError: [enforce fail at inline_container.cc:626] . unexpected pos 1024 vs 900\n"
		steps  = "step 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\n"
	)
	wantVerdicts(t, map[string]printed{
		"by itself":         {raised + failed, Retry},
		"a line before":     {full + raised + failed, Fatal},
		"logged":            {"[2024-05-01 10:00:01,001] [ERROR] [writer.py:31:write] write failed: " + full + raised + failed, Fatal},
		"a quota":           {quota + raised + failed, Fatal},
		"in a thread":       {thread + full + "\n" + raised + failed, Fatal},
		"work since":        {full + steps + raised + failed, Retry},
		"a tracker":         {"wandb: ERROR " + full + raised + failed, Retry},
		"warned of":         {"2024-05-01 10:00:01,001 - WARNING - cache.py - no cache\n" + raised + full + "epoch begins\n" + raised + failed, Retry},
		"another condition": {"OSError: [Errno 5] Input/output error\n" + raised + failed, Retry},
		"another file":      {"cannot cache: OSError: [Errno 28] No space left on device: '/scratch/cache/a.idx'\n" + raised + failed, Retry},
		"the same place":    {"saving to /ckpt/step_10\nwriter: OSError: [Errno 28] No space left on device: '/ckpt/step_10/a.pt'\n" + raised + failed, Fatal},
		"it goes on":        {"WARNING: cache not written, continuing without it: " + full + raised + failed, Retry},
	})
}

func TestDirNamed(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "full": "", "a/b": "", "/a": "", "/a/b": "/a", "full: '/a/b/c.pt'": "/a/b", "cp /x/y to /a/b: full": "/a",
		"[Errno 28] full: \"/a/b c/d\"": "/a", "3/4 of /ckpt/x are full, read/write": "/ckpt",
	} {
		if got := string(dirNamed([]byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
