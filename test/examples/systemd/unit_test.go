package systemd_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// unit is one gangrun@NAME.
type unit struct {
	t    *testing.T
	m    *machine
	name string
}

// units makes names that no other test has used, nor an earlier run of this one.
var units atomic.Int32

// start starts the unit, whose training is a shell script.
func start(t *testing.T, script string, env ...string) *unit {
	t.Helper()
	t.Parallel()
	u := &unit{t, needMachine(t), strings.ToLower(strings.TrimPrefix(t.Name(), "Test")) + strconv.Itoa(int(units.Add(1)))}
	u.write("/srv/"+u.name, "#!/bin/sh\n"+script, 0o755)
	u.write("/etc/gangrun/"+u.name+".env", strings.Join(append(env, "COMMAND=/srv/"+u.name+" "+u.name), "\n"), 0o644)
	u.systemctl("start")
	return u
}

func (u *unit) write(path, text string, mode os.FileMode) {
	u.t.Helper()
	if err := os.WriteFile(u.m.path(path), []byte(text), mode); err != nil {
		u.t.Fatal(err)
	}
}

// systemctl does something with the unit, and waits for it.
func (u *unit) systemctl(verb string) {
	u.t.Helper()
	if out, err := u.m.command("systemctl", verb, "gangrun@"+u.name).CombinedOutput(); err != nil {
		u.t.Fatalf("systemctl %s: %v: %s\n%s", verb, err, out, u.journal())
	}
}

func (u *unit) journal() string {
	out, _ := u.m.command("journalctl", "--no-pager", "--output=cat", "--unit=gangrun@"+u.name).CombinedOutput()
	return string(out)
}

// property is what systemd tells of the unit.
func (u *unit) property(name string) string {
	u.t.Helper()
	out, err := u.m.command("systemctl", "show", "--value", "--property="+name, "gangrun@"+u.name).Output()
	if err != nil {
		u.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// await waits for text in the journal.
func (u *unit) await(text string) {
	u.t.Helper()
	if err := harness.Until(time.Minute, text, func() bool { return strings.Contains(u.journal(), text) }); err != nil {
		u.t.Fatalf("%v\n%s", err, u.journal())
	}
}

// end waits for the end and wants it to be that one: the state, the code in the message, and how often systemd has
// started it again, which it forgets of a unit that is inactive.
func (u *unit) end(state string, code, restarts int) exitcodes.Message {
	u.t.Helper()
	var now string
	err := harness.Until(time.Minute, "the end", func() bool { now = u.property("ActiveState"); return now == "inactive" || now == "failed" })
	m := harness.Message(u.t, u.m.path("/var/lib/gangrun/"+u.name+"/box.json"))
	journal := u.journal()
	started := strings.Count(journal, "Scheduled restart job")
	if err != nil || now != state || m.ExitCode != code || started != restarts {
		u.t.Errorf("%s, code %d, %d restarts; want %s, %d, %d\n%s", now, m.ExitCode, started, state, code, restarts, journal)
	}
	return m
}

func TestVerify(t *testing.T) {
	t.Parallel()
	m := needMachine(t)
	if out, err := m.command("systemd-analyze", "verify", "gangrun@verified.service").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze: %v: %s", err, out)
	}
}

// TestCodes looks at what systemd has understood of the list: all fatal codes, and no others.
func TestCodes(t *testing.T) {
	t.Parallel()
	u := &unit{t, needMachine(t), "codes"}
	var codes []string
	for code := 1; code < 128; code++ {
		codes = append(codes, strconv.Itoa(code))
	}
	if got := u.property("RestartPreventExitStatus"); !slices.Equal(strings.Fields(got), codes) {
		t.Errorf("RestartPreventExitStatus is %s", got)
	}
}

func TestSuccess(t *testing.T) {
	u := start(t, "echo job $GANGRUN_JOB_NAME with $1")
	u.end("inactive", 0, 0)
	u.await("job " + u.name + " with " + u.name)
}

func TestFatal(t *testing.T) {
	u := start(t, "exit 3")
	u.end("failed", 3, 0)
	if got := u.property("ExecMainStatus"); got != "3" {
		t.Errorf("systemd knows of code %s", got)
	}
}

// TestRestartInPlace is a worker that is killed: systemd learns nothing of it.
func TestRestartInPlace(t *testing.T) {
	u := start(t, `[ $GANGRUN_ROUND = 1 ] || kill -KILL $$`)
	u.end("inactive", 0, 0)
}

// TestRestart is a worker that is killed where gangrun restarts nothing: it exits with 137, and systemd starts it
// again.
func TestRestart(t *testing.T) {
	u := start(t, `mkdir /run/$1 || exit 0; kill -KILL $$`, "GANGRUN_NO_RESTART=true")
	u.end("inactive", 0, 1)
	u.await("status=137")
}

// TestKilled is gangrun itself that is killed: by a signal whose number is in the list, as an exit code.
func TestKilled(t *testing.T) {
	u := start(t, `echo begun; mkdir /run/$1 || exit 0; sleep 1000`)
	u.await("begun")
	if out, err := u.m.command("kill", "-KILL", u.property("MainPID")).CombinedOutput(); err != nil {
		t.Fatalf("kill: %v: %s", err, out)
	}
	u.end("inactive", 0, 1)
}

// TestStatus is what systemctl status says of a training run that reports its steps.
func TestStatus(t *testing.T) {
	u := start(t, `exec python3 -c '
import os, socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for step in range(1, 1000):
    s.sendto(f"X_GANGRUN_STEP={step}".encode(), os.environ["NOTIFY_SOCKET"])
    time.sleep(0.1)'`)
	var text string
	told := func() bool {
		text = u.property("StatusText")
		return strings.HasPrefix(text, "round 0, step ") && strings.HasSuffix(text, ", training")
	}
	if err := harness.Until(time.Minute, "a status", told); err != nil {
		t.Errorf("%v: it is %q\n%s", err, text, u.journal())
	}
	if got := u.property("ActiveState"); got != "active" {
		t.Errorf("it is %s", got)
	}
	u.systemctl("stop")
	u.end("inactive", 143, 0)
}

// TestJournal finds what has happened to a worker by the fields of the journal.
func TestJournal(t *testing.T) {
	u := start(t, `[ $GANGRUN_ROUND = 1 ] || kill -KILL $$`)
	u.end("inactive", 0, 0)
	var out []byte
	found := func() bool {
		out, _ = u.m.command("journalctl", "--no-pager", "--output=cat", "GANGRUN_JOB="+u.name, "GANGRUN_EVENT=worker.failed",
			"GANGRUN_REASON=KilledBySIGKILL", "GANGRUN_ROUND=0", "PRIORITY=3").Output()
		return strings.TrimSpace(string(out)) == "the worker was killed by SIGKILL"
	}
	if err := harness.Until(time.Minute, "its entry", found); err != nil {
		t.Errorf("%v: %s\n%s", err, out, u.journal())
	}
}

// TestWatchdog is a gangrun that is stopped and does nothing any more: systemd starts it again.
func TestWatchdog(t *testing.T) {
	u := start(t, `echo begun; mkdir /run/$1 || exit 0; sleep 1000`)
	u.await("begun")
	if out, err := u.m.command("kill", "-STOP", u.property("MainPID")).CombinedOutput(); err != nil {
		t.Fatalf("kill: %v: %s", err, out)
	}
	u.end("inactive", 0, 1)
	u.await("Watchdog timeout")
}

// TestStop stops a training run that saves. Its loader, a process of its own, is there until it has: the signal is
// gangrun's alone, which passes it on to the worker alone.
func TestStop(t *testing.T) {
	u := start(t, `sleep 1000 & loader=$!
trap 'kill -0 $loader && echo saved beside the loader; exit 0' TERM
echo begun
while :; do sleep 0.1; done`)
	u.await("begun")
	u.systemctl("stop")
	u.end("inactive", 143, 0)
	u.await("saved beside the loader")
}

// TestStubborn stops a training run that does not heed it. gangrun ends it in time, so that systemd need not end
// gangrun.
func TestStubborn(t *testing.T) {
	u := start(t, "trap '' TERM; echo begun; while :; do sleep 0.1; done", "GANGRUN_GRACE=1s")
	u.await("begun")
	u.systemctl("stop")
	m := u.end("inactive", 143, 0)
	if m.Verdict != exitcodes.Preempted || m.Signal != "SIGKILL" {
		t.Errorf("the message says %s, and that the worker ended by %q", m.Verdict, m.Signal)
	}
}
