package slurm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// job is examples/slurm/train.sbatch in Slurm's queue, with two GPUs on each of two nodes.
type job struct {
	t      *testing.T
	id     string
	log    string // what it prints
	shared string // a directory
}

// submit puts the script into the queue as a user would, with a smaller machine in mind.
func submit(t *testing.T, options []string, env []string, arguments ...string) *job {
	t.Helper()
	c := needCluster(t)
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(harness.Binary(t), filepath.Join(bin, "gangrun")); err != nil {
		t.Fatal(err)
	}
	j := &job{t: t, log: filepath.Join(dir, "log"), shared: dir}
	argv := append([]string{"sbatch", "--parsable", "--gpus-per-node=2", "--cpus-per-task=2", "--time=10", "--output=" + j.log, "--chdir=" + dir}, options...)
	argv = append(append(argv, filepath.Join(harness.Root(), "examples", "slurm", "train.sbatch")), arguments...)
	env = append([]string{"GANGRUN_CHECKPOINT_PATTERN=step-*.json"}, env...)
	env = append(env, "PATH="+bin+":"+os.Getenv("PATH"), "CHECKPOINTS="+j.checkpoints())
	r := harness.Run(t, limit, env, argv...)
	if r.Code != 0 {
		t.Fatalf("sbatch: %s\n%s", r.Stderr, c.logs())
	}
	j.id = strings.TrimSpace(r.Stdout)
	t.Cleanup(func() { _ = exec.Command("scancel", j.id).Run() })
	return j
}

func (j *job) checkpoints() string { return filepath.Join(j.shared, "checkpoints") }

func (j *job) text() string {
	text, _ := os.ReadFile(j.log)
	return string(text)
}

// show is what Slurm tells of the job.
func (j *job) show() map[string]string {
	out, err := exec.Command("scontrol", "show", "job", "--oneliner", j.id).Output()
	if err != nil {
		j.t.Fatalf("scontrol: %v", err)
	}
	told := map[string]string{}
	for _, field := range strings.Fields(string(out)) {
		key, value, _ := strings.Cut(field, "=")
		told[key] = value
	}
	return told
}

// await waits until Slurm tells that of the job.
func (j *job) await(what string, ok func(told map[string]string) bool) map[string]string {
	j.t.Helper()
	var told map[string]string
	if err := harness.Until(limit, what, func() bool { told = j.show(); return ok(told) }); err != nil {
		j.t.Fatalf("%v\n%v\n%s", err, told, j.text())
	}
	return told
}

// end waits for the end and wants it to be that one, after so many requeues.
func (j *job) end(state, code string, requeues int) {
	j.t.Helper()
	told := j.await("the end", func(told map[string]string) bool {
		return slices.Contains([]string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"}, told["JobState"])
	})
	if told["JobState"] != state || told["ExitCode"] != code || told["Restarts"] != fmt.Sprint(requeues) {
		j.t.Errorf("%s, exit code %s, %s requeues; want %s, %s, %d\n%s", told["JobState"], told["ExitCode"], told["Restarts"], state, code, requeues, j.text())
	}
}

// want wants the job to have printed this so many times.
func (j *job) want(text string, times int) {
	j.t.Helper()
	if n := strings.Count(j.text(), text); n != times {
		j.t.Errorf("%q was printed %d times instead of %d:\n%s", text, n, times, j.text())
	}
}

// plain is a training run with one rank on each node, which gangrun tells of each other as it tells torchrun.
func plain(arguments ...string) []string {
	trainer := filepath.Join(harness.Root(), "examples", "train", "plain.py")
	return append([]string{"sh", "-c", `RANK=$PET_NODE_RANK WORLD_SIZE=$PET_NNODES MASTER_ADDR=$PET_MASTER_ADDR MASTER_PORT=$PET_MASTER_PORT exec python3 "$@"`,
		"sh", trainer, "--steps=30", "--checkpoint-every=5", "--checkpoint-dir=checkpoints"}, arguments...)
}

// testdata is a file beside these tests.
func testdata(name string) string {
	return filepath.Join(harness.Root(), "test", "examples", "slurm", "testdata", name)
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	j := submit(t, nil, nil, plain()...)
	j.end("COMPLETED", "0:0", 0)
	j.want("starting from step 0 with 2 ranks", 1)
	j.want("final loss", 1)
}

// TestFatal is a rank that exits, before the other has heard of it: a rank that loses another on the way may fail first.
// Both nodes exit with its code, and that is the end of the job.
func TestFatal(t *testing.T) {
	t.Parallel()
	fatal := []string{"sh", "-c", `echo "round $GANGRUN_ROUND"; [ $SLURM_PROCID != 1 ] || exit 3; exec "$@"`, "sh"}
	j := submit(t, nil, nil, append(fatal, plain()...)...)
	j.end("FAILED", "3:0", 0)
	j.want("round 1\n", 0)
	j.want("srun: error: n1: task 0: Exited with exit code 3\n", 1)
	j.want("srun: error: n2: task 1: Exited with exit code 3\n", 1)
}

// TestRestartInPlace is a rank that is killed: Slurm learns nothing of it.
func TestRestartInPlace(t *testing.T) {
	t.Parallel()
	j := submit(t, nil, nil, plain("--die-at=12", "--how=SIGKILL", "--die-once=died")...)
	j.end("COMPLETED", "0:0", 0)
	j.want("resumed from step 10", 1)
	j.want("final loss", 1)
}

// TestTorchrun is the script's own example: a real torchrun on each node. It exits 1 whatever has happened to a rank, which
// by itself would be the end; gangrun knows better.
func TestTorchrun(t *testing.T) {
	t.Parallel()
	j := submit(t, nil, []string{"OMP_NUM_THREADS=1", "GANGRUN_CHECKPOINT_PATTERN=step-*.pt"}, harness.Peer(t, "torch/bin/torchrun"), "--nproc-per-node", "1", filepath.Join(harness.Root(), "examples", "train", "torch_ddp.py"),
		"--steps=20", "--checkpoint-every=5", "--checkpoint-dir=checkpoints", "--die-at=12", "--how=SIGKILL", "--die-once=died")
	j.end("COMPLETED", "0:0", 0)
	j.want("starting from step 0 with 2 ranks", 1)
	j.want("resumed from step 10", 1)
	j.want("final loss", 1)
}

// TestRequeue is a rank that is killed when there are no restarts in place: gangrun exits with 137, the script puts the
// job back into the queue, and the next run resumes from the checkpoint.
func TestRequeue(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	j := submit(t, nil, []string{"GANGRUN_NO_RESTART=true"}, plain("--die-at=12", "--how=SIGKILL", "--die-once=died")...)
	j.end("COMPLETED", "0:0", 1)
	j.want("Exited with exit code 137\n", 2)
	j.want("gangrun exited with 137: requeue number 1\n", 1)
	j.want("resumed from step 10", 1)
	j.want("final loss", 1)
}

// TestRequeuesEnd is the same, in a job that may not be put back into the queue any more.
func TestRequeuesEnd(t *testing.T) {
	t.Parallel()
	j := submit(t, nil, []string{"MOST_REQUEUES=0", "GANGRUN_NO_RESTART=true"}, plain("--die-at=12", "--how=SIGKILL")...)
	j.end("FAILED", "137:0", 0)
	j.want("no more of them", 1)
}

// TestLostGangrun is a gangrun that is killed. Slurm starts no other in that run: the one that is left waits for it in
// vain, and all of it is run again.
func TestLostGangrun(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	env := []string{"GANGRUN_FENCE_TIMEOUT=20s", "GANGRUN_RESTART_GRACE=1s", "GANGRUN_JOIN_TIMEOUT=5s"}
	lost := []string{"sh", "-c", `[ "$SLURM_PROCID$SLURM_RESTART_COUNT" != 1 ] || kill -KILL $PPID; exec "$@"`, "sh"}
	j := submit(t, nil, env, append(lost, plain()...)...)
	j.end("COMPLETED", "0:0", 1)
	j.want("reason=RendezvousTimeout", 1)
	j.want("gangrun exited with 137: requeue number 1\n", 1) // a death by a signal is more to srun than any code
	j.want("final loss", 1)
}

// TestNotice is a job whose time is nearly up. Slurm tells all processes of it, gangrun tells the training to stop, which
// saves, and the next run resumes from there. Slurm looks at the time every thirty seconds.
func TestNotice(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	j := submit(t, []string{"--time=1", "--signal=USR1@50"}, nil, "python3", testdata("saver.py"), "checkpoints")
	j.end("COMPLETED", "0:0", 1)
	j.want("msg=\"stopping: the notice", 2)
	j.want("told to stop by signal 15, the loader lives: True\n", 2)
	j.want("saved step", 1)
	j.want("Exited with exit code 143\n", 2)
	j.want("gangrun exited with 143: requeue number 1\n", 1)
	if saved := regexp.MustCompile(`saved step (\d+)`).FindStringSubmatch(j.text()); saved != nil {
		j.want("resuming from step "+saved[1]+"\n", 2)
	}
}

// TestCancel is a job that a person ends. It does not come back.
func TestCancel(t *testing.T) {
	t.Parallel()
	j := submit(t, nil, nil, plain("--step-time=0.5", "--steps=1000")...)
	j.await("a step", func(map[string]string) bool { return strings.Contains(j.text(), "step 10 ") })
	if out, err := exec.Command("scancel", j.id).CombinedOutput(); err != nil {
		t.Fatalf("scancel: %v: %s", err, out)
	}
	j.end("CANCELLED", "143:0", 0)
	j.want("stopping: stop signal", 2)
}
