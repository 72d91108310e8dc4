package torchrun

import "testing"

func TestDirectories(t *testing.T) {
	there := map[string]bool{"attempt_1": true, "attempt_1.1": true}
	taken := func(name string) bool { return there[name] }
	if a, b := AttemptDirectory(0, taken), AttemptDirectory(1, taken); a != "attempt_0" || b != "attempt_1.2" {
		t.Errorf("%s, %s", a, b)
	}
	if got := RunPattern("team/job"); got != "team_job_*" {
		t.Error(got)
	}
	if got := WorkerDirectory("/logs/attempt_0", 3); got != "/logs/attempt_0/3" {
		t.Error(got)
	}
}

func TestLinePrefix(t *testing.T) {
	if got := mustParse(t, "--role trainer x", nil).LinePrefix(5, 1, "n"); got != "[trainer1]:" {
		t.Error(got)
	}
	env := map[string]string{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "$hostname/${rank}/${x}$$ "}
	if got := mustParse(t, "--log-line-prefix-template= x", env).LinePrefix(5, 1, "n"); got != "n/5/${x}$ " {
		t.Error(got)
	}
}
