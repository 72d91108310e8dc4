package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// smi is a nvidia-smi that is a shell script, and the variable by which it is found before any other. A line for each call
// is in the file calls.
func smi(t *testing.T, script string) (env []string, calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	text := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s\nn=$(wc -l <%[1]s)\n%s\n", calls, script)
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{"PATH=" + dir + ":" + os.Getenv("PATH")}, calls
}

// gpus is a script that prints what nvidia-smi does of one GPU.
func gpus(recovery, used string) string {
	return fmt.Sprintf(`cat <<EOF
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log><attached_gpus>1</attached_gpus><gpu id="00000000:3B:00.0">
<gpu_recovery_action>%s</gpu_recovery_action><fb_memory_usage><used>%s</used></fb_memory_usage>
</gpu></nvidia_smi_log>
EOF`, recovery, used)
}

// called is how often the file of smi says that it was called.
func called(t *testing.T, calls string) int {
	t.Helper()
	text, err := os.ReadFile(calls)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line != "-q -x\n" {
			t.Errorf("nvidia-smi is called with %q", line)
		}
	}
	return strings.Count(string(text), "\n")
}

// TestPreflight is a look at the machine before the first round: a sick one never starts a worker, and what cannot be
// read keeps none from starting.
func TestPreflight(t *testing.T) {
	t.Parallel()
	healthy := gpus("None", "4 MiB")
	for name, tt := range map[string]struct {
		smi   string
		flags []string
		says  string // 214 and this; empty: it trains
		notes string // it trains, and this is said
	}{
		"healthy":             {smi: healthy},
		"reset":               {smi: gpus("Reset", "4 MiB"), says: `GPU 00000000:3B:00.0 is not fit for use: the driver asks for "Reset"`},
		"off the bus":         {smi: "echo 'Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error'; exit 15", says: "a GPU is lost"},
		"stuck":               {smi: "sleep 1000 & sleep 1000", flags: []string{"--preflight-timeout", "500ms"}, says: "no answer from the driver after 500ms"},
		"deaf and stuck":      {smi: "trap '' TERM INT HUP; sleep 1000 & wait; wait", flags: []string{"--preflight-timeout", "500ms"}, says: "no answer"},
		"garbage":             {smi: "echo '<html>'", notes: "the output of nvidia-smi cannot be read"},
		"not allowed":         {smi: "echo Insufficient Permissions; exit 4", notes: "nothing is known of them: Insufficient Permissions"},
		"something is left":   {smi: healthy + "\nsleep 1000 &"},
		"a command":           {smi: healthy, flags: []string{"--preflight-command", "sh -c 'exit 0'"}},
		"a command says no":   {smi: healthy, flags: []string{"--preflight-command", "sh -c 'echo fan 3 stands still; exit 7'"}, says: "command: sh exits with 7: fan 3 stands still"},
		"a command is stuck":  {smi: healthy, flags: []string{"--preflight-command", "sleep 1000", "--preflight-timeout", "500ms"}, says: "sleep had not ended after 500ms"},
		"both say no":         {smi: gpus("Reboot", "4 MiB"), flags: []string{"--preflight-command", "false"}, says: "command: false exits with 1"},
		"a store that is far": {smi: gpus("Reboot", "4 MiB"), flags: []string{"--nodes", "2", "--endpoint", "127.0.0.1:1"}, says: `"Reboot"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, calls := smi(t, tt.smi)
			mark := filepath.Join(t.TempDir(), "trained")
			e := harness.Job{Flags: append([]string{"--preflight"}, tt.flags...), Env: env, Worker: []string{"touch", mark}}.Run(t, limit)
			_, err := os.Stat(mark)
			switch {
			case tt.says == "":
				e.Want(t, 0, exitcodes.Success, "Succeeded")
				if !strings.Contains(e.Stderr, tt.notes) || err != nil {
					t.Errorf("want it to train, and say %q:\n%s", tt.notes, e.Stderr)
				}
			default:
				e.Want(t, 214, exitcodes.Retry, "NodeUnhealthy")
				if !strings.Contains(e.Message.Message, "not fit to train") || !strings.Contains(e.Message.Message, tt.says) || err == nil {
					t.Errorf("want no worker to start, and %q:\n%s", tt.says, e.Raw)
				}
			}
			if n := called(t, calls); n != 1 {
				t.Errorf("nvidia-smi was called %d times", n)
			}
		})
	}
}

// TestPreflightOff asks nobody anything.
func TestPreflightOff(t *testing.T) {
	t.Parallel()
	env, calls := smi(t, gpus("Reboot", "4 MiB"))
	harness.Job{Env: env, Worker: harness.Shell("exit 0")}.Run(t, limit).Want(t, 0, exitcodes.Success, "Succeeded")
	if n := called(t, calls); n != 0 {
		t.Errorf("nvidia-smi was called %d times", n)
	}
	for flag, says := range map[string]string{
		"--preflight-command=true": "goes with --preflight", "--preflight-timeout=1s": "goes with --preflight",
	} {
		if e := (harness.Job{Flags: []string{flag}, Worker: harness.Shell("exit 0")}).Run(t, limit); e.Code != 64 || !strings.Contains(e.Stderr, says) {
			t.Errorf("%s: exits with %d: %s", flag, e.Code, e.Stderr)
		}
	}
	e := harness.Job{Flags: []string{"--preflight", "--preflight-command", "/no/such"}, Worker: harness.Shell("exit 0")}.Run(t, limit)
	if e.Code != 64 || !strings.Contains(e.Stderr, "--preflight-command /no/such") {
		t.Errorf("exits with %d: %s", e.Code, e.Stderr)
	}
}

// TestPreflightStopped is a stop while nvidia-smi is waited for: nobody waits for that.
func TestPreflightStopped(t *testing.T) {
	t.Parallel()
	env, calls := smi(t, "sleep 1000 & echo $! >>$0.pid; sleep 1000")
	job := harness.Job{Flags: []string{"--preflight"}, Env: env, Worker: harness.Shell("exit 0")}.Start(t, limit)
	harness.Eventually(t, limit, "nvidia-smi to be called", func() bool {
		info, err := os.Stat(filepath.Join(filepath.Dir(calls), "nvidia-smi.pid"))
		return called(t, calls) == 1 && err == nil && info.Size() > 0
	})
	job.Signal(syscall.SIGTERM)
	e := job.End()
	e.Want(t, 143, exitcodes.Preempted, "Preempted")
	if e.Took > limit/2 {
		t.Errorf("it took %v", e.Took)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(calls), "nvidia-smi.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(text))
	harness.Eventually(t, limit, "what nvidia-smi has started to be gone", func() bool {
		status, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(status), ") Z ")
	})
}

// TestPreflightDeadServer has the checkpoints on a file server that does not answer.
func TestPreflightDeadServer(t *testing.T) {
	env, _ := smi(t, gpus("None", "4 MiB"))
	dir := deadServer(t)
	e := harness.Job{
		Flags: []string{"--preflight", "--preflight-timeout", "1s", "--checkpoint-dir", dir + "/ckpt"}, Env: env, Worker: harness.Shell("exit 0"),
	}.Run(t, limit)
	e.Want(t, 214, exitcodes.Retry, "NodeUnhealthy")
	if !strings.Contains(e.Message.Message, "checkpoints: "+dir) || !strings.Contains(e.Message.Message, "within 1s") {
		t.Errorf("%s", e.Raw)
	}
}

// TestPreflightBetweenRounds looks again after the second failure, in the pause before the restart, not after the first.
func TestPreflightBetweenRounds(t *testing.T) {
	t.Parallel()
	first := gpus("None", "4 MiB")
	for name, tt := range map[string]struct {
		later, says string
		looks       int // where it continues
		visible     string
	}{
		"sick by then":          {gpus("Drain and Reset", "4 MiB"), "Drain and Reset", 0, ""},
		"memory not given back": {gpus("None", "70000 MiB"), "69996 MiB more are in use than at the start", 0, ""},
		"stuck by then":         {"sleep 1000", "no answer from the driver", 0, ""},
		"still healthy":         {gpus("None", "4 MiB"), "", 2, ""},
		"memory given back":     {"if [ $n -eq 2 ]; then\n" + gpus("None", "70000 MiB") + "\nelse\n" + first + "\nfi", "", 3, ""},
		"memory of another job": {strings.Replace(gpus("None", "70000 MiB"), "</gpu>",
			"<processes><process_info><pid>4711</pid></process_info></processes></gpu>", 1), "", 2, ""},
		"sick, and another job's": {gpus("Reset", "4 MiB"), "", 2, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, calls := smi(t, fmt.Sprintf("if [ $n -lt 2 ]; then\n%s\nelse\n%s\nfi", first, tt.later))
			if tt.visible != "" {
				env = append(env, "CUDA_VISIBLE_DEVICES="+tt.visible)
			}
			rounds := filepath.Join(t.TempDir(), "rounds")
			e := harness.Job{
				Flags:  []string{"--preflight", "--preflight-timeout", "4s", "--max-restarts", "2", "--restart-backoff", "500ms"},
				Env:    env,
				Worker: harness.Shell("echo >>$1; [ $(wc -l <$1) -eq 3 ] || kill -KILL $$", rounds),
			}.Run(t, limit)
			started, _ := os.ReadFile(rounds)
			if tt.says == "" {
				e.Want(t, 0, exitcodes.Success, "Succeeded")
				if len(started) != 3 || called(t, calls) != tt.looks {
					t.Errorf("%d rounds, %d looks; want 3 and %d", len(started), called(t, calls), tt.looks)
				}
				return
			}
			e.Want(t, 214, exitcodes.Retry, "NodeUnhealthy")
			if len(started) != 2 || !strings.Contains(e.Message.Message, tt.says) {
				t.Errorf("%d rounds; want 2, and %q: %s", len(started), tt.says, e.Raw)
			}
		})
	}
}

// TestDoctorProbes has doctor say what --preflight would find.
func TestDoctorProbes(t *testing.T) {
	t.Parallel()
	const stuck = "sleep 1000"
	for name, tt := range map[string]struct {
		smi, state, says string
		code             int
	}{
		"healthy": {gpus("None", "4 MiB"), "ok", "1 are seen", 0},
		"sick":    {gpus("Reboot", "4 MiB"), "fail", `"Reboot"`, 1},
		"stuck":   {stuck, "fail", "no answer from the driver after 500ms", 1},
		"garbage": {"echo x", "warn", "cannot be read", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, _ := smi(t, tt.smi)
			found, code := doctor(t, env, "--preflight-timeout", "500ms", "--checkpoint-dir", t.TempDir(), "--preflight-command", "echo well")
			if c := found["GPUs"]; c.State != tt.state || !strings.Contains(c.Detail, tt.says) || code != tt.code {
				t.Errorf("exits with %d, %+v; want %d, %s, %q", code, c, tt.code, tt.state, tt.says)
			}
			if found["checkpoints"].State != "ok" || found["command"].Detail != "echo: well" {
				t.Errorf("%+v, %+v", found["checkpoints"], found["command"])
			}
		})
	}
}
