package container_test

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestConfined is what a strict cluster leaves a container: uid 1000, a read-only root, no capability, no new
// privileges, and the default seccomp profile. Two ranks of two rounds, a store within gangrun, metrics, an event
// file, a leftover, a hang whose evidence is gathered, and an exit hook need no more.
func TestConfined(t *testing.T) {
	t.Parallel()
	script := `case $GANGRUN_ROUND.$RANK in
0.0) setsid -f sleep 1000; kill -SEGV $$$$;; # as torchrun, launch makes one of two
1.0) for step in 1 2 3 4; do echo step $step; sleep 0.5; done; exec sleep 1000;;
2.0) grep -hE '^(Uid|CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/1/status
     (: > /canary) 2>&1; unshare --user true 2>&1; ls /tmp/state >&2;;
?.1) [ $GANGRUN_ROUND = 2 ] || exec sleep 1000;;
esac`
	e := box{user: 1000, launch: true, tmp: true, flags: []string{
		"--nproc-per-node", "2", "--nnodes", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:29400",
		"--rdzv-id", "confined",
		"--max-restarts", "5", "--restart-backoff", "1ms:1ms", "--restart-grace", "1s", "--metrics-addr", "127.0.0.1:9090",
		"--events", "/tmp/events", "--state-dir", "/tmp/state", "--log-dir", "/tmp/log", "--tee", "3",
		"--hang", "act", "--hang-timeout", "2s",
		"--step-regex", `step (\d+)`, "--on-exit", "/bin/cat /tmp/events", "--no-python",
	}, worker: harness.Shell(script)}.run(t)
	e.Want(t, 0, exitcodes.Success, "Succeeded")
	for _, want := range []string{
		"Uid:\t1000\t1000\t1000\t1000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
		"NoNewPrivs:\t1", `"reason":"KilledBySIGSEGV"`, `"reason":"Hang"`, "left processes behind",
		"Seccomp:\t2", "Read-only file system", "unshare: unshare failed: Operation not permitted",
	} {
		if !strings.Contains(e.Stdout+e.Stderr, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", e.Stdout, e.Stderr)
	}
}
