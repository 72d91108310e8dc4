// Package observe_test looks at real jobs as others do: at their events, their metrics and their status, which have to
// agree with each other and with the termination message.
package observe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	os.Exit(m.Run())
}

const limit = time.Minute

// local is a gangrun local whose events go to a file, and which listens.
type local struct {
	*harness.Process
	t       *testing.T
	dir     string
	address string
}

func start(t *testing.T, ranks int, env []string, flags ...string) local {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	train, _ := filepath.Abs("testdata/train.py")
	argv := append([]string{
		harness.Binary(t), "local", "-n", fmt.Sprint(ranks), "--framework", "none", "--events", dir + "/events",
		"--metrics-addr", address, "--termination-log", dir + "/message", "--restart-backoff", "0s",
	}, flags...)
	argv = append(argv, "--", harness.Program(t, "python3", "install python3"), train)
	return local{harness.Start(t, limit, env, argv...), t, dir, address}
}

// get is what it answers; empty while it does not listen.
func (l local) get(path string) string {
	answer, err := http.Get("http://" + l.address + path)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

func (l local) message() exitcodes.Message { return harness.Message(l.t, l.dir+"/message") }

func (l local) events() (list []event.Event) {
	l.t.Helper()
	data, err := os.ReadFile(l.dir + "/events")
	if err != nil {
		l.t.Fatal(err)
	}
	problems, err := event.Read(bytes.NewReader(data), func(e event.Event) { list = append(list, e) })
	if err != nil || len(problems) > 0 {
		l.t.Fatal(err, problems)
	}
	return list
}

// account is what the events come to, as of the last.
func (l local) account() account.Summary {
	var tally account.Tally
	for _, e := range l.events() {
		tally.Add(e)
	}
	return tally.At(time.Time{})
}

// TestLooks takes a job through two failures and looks at it meanwhile: metrics and status say what the events do.
func TestLooks(t *testing.T) {
	t.Parallel()
	promtool := harness.Peer(t, "promtool/promtool")
	l := start(t, 2, []string{"FAIL=0:1:5:kill 1:0:8:raise", "STEPS=400", "STEP_TIME=0.02"}, "--unknown", "retry")
	harness.Eventually(t, limit, "a third round with steps", func() bool {
		return strings.Contains(l.get("/status"), `"round": 2`) && strings.Contains(l.get("/status"), `"step": 1`)
	})
	metrics, status := l.get("/metrics"), l.get("/status")
	for _, want := range []string{
		"gangrun_round 2\n", `gangrun_phase{phase="running"} 1`, `gangrun_restarts_total{reason="KilledBySIGKILL"} 1`,
		`gangrun_restarts_total{reason="OutOfMemory"} 1`, "gangrun_restart_budget_max 3\n", "gangrun_workers 2\n",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %q in\n%s", want, metrics)
		}
	}
	if strings.ContainsAny(status, "<>\x1b") || !strings.Contains(status, "hostile") {
		t.Errorf("status: %s", status)
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(metrics)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v %s", err, out)
	}
	if result := l.Wait(); result.Code != 0 {
		t.Fatalf("%d\n%s", result.Code, result.Stderr)
	}
	m, a := l.message(), l.account()
	if *a.Step != *m.Step || a.Restarts.Used != m.Restarts.Used || *a.Round != *m.Round ||
		a.Outcome.Verdict != m.Verdict ||
		!a.At.Equal(m.FinishedAt) && a.At.Sub(m.FinishedAt).Abs() > time.Second {
		t.Errorf("the events come to %+v, the message is %+v", a, m)
	}
	if len(a.Disruptions) != 2 || a.Disruptions[0].Reason != "KilledBySIGKILL" || a.Disruptions[1].Cause == nil ||
		!strings.Contains(a.Disruptions[1].Cause.Message, "hostile") || *a.Disruptions[1].LostSteps < 1 {
		t.Errorf("%+v", a.Disruptions)
	}
	l.reported(a, m)
	raw, _ := os.ReadFile(l.dir + "/events")
	if bytes.ContainsAny(raw, "<>\x1b") {
		t.Errorf("%s", raw)
	}
	if l.get("/healthz") != "" {
		t.Error("it still listens")
	}
}

// reported: gangrun report says what the account does, as JSON, for a person and as a page.
func (l local) reported(a account.Summary, m exitcodes.Message) {
	l.t.Helper()
	report := func(args ...string) string {
		result := harness.Run(l.t, limit, nil, append([]string{harness.Binary(l.t), "report"}, args...)...)
		if result.Code != 0 {
			l.t.Fatalf("%d %s", result.Code, result.Stderr)
		}
		return result.Stdout
	}
	var r struct {
		ElapsedSeconds, ProductiveSeconds float64
		BadputSeconds                     map[account.Source]float64
		Step                              int64
		Restarts                          event.Restarts
		Outcome                           event.End
		Disruptions                       []struct{ Reason, Node string }
	}
	if err := json.Unmarshal([]byte(report("-o", "json", l.dir+"/events")), &r); err != nil {
		l.t.Fatal(err)
	}
	took := m.FinishedAt.Sub(m.StartedAt).Seconds()
	if r.Step != *m.Step || r.Restarts.Used != m.Restarts.Used || r.ElapsedSeconds-took > 1 || took-r.ElapsedSeconds > 1 ||
		r.ProductiveSeconds != a.Productive || r.Outcome.Verdict != m.Verdict || len(r.Disruptions) != len(a.Disruptions) ||
		r.BadputSeconds[account.LostProgress] != a.Badput[account.LostProgress] {
		l.t.Errorf("report: %+v; account: %+v", r, a)
	}
	shown := report("--html", l.dir+"/page.html", l.dir+"/events")
	page, err := os.ReadFile(l.dir + "/page.html")
	if err != nil || strings.Contains(string(page), "<script") || !strings.Contains(string(page), "hostile") {
		l.t.Errorf("%v %s", err, page)
	}
	if strings.Contains(shown, "\x1b") || !strings.Contains(shown, "hostile") || !strings.Contains(shown,
		"2 interruptions") {
		l.t.Errorf("%s", shown)
	}
}

// TestReportMistakes: what cannot be reported is said in one line.
func TestReportMistakes(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
	}{{nil, 64}, {[]string{"-o", "xml", empty}, 64}, {[]string{empty}, 66}, {[]string{empty + ".none"}, 66}} {
		result := harness.Run(t, limit, nil, append([]string{harness.Binary(t), "report"}, test.args...)...)
		if result.Code != test.code || strings.Count(result.Stderr, "\n") != 1 {
			t.Errorf("%v: %d %s", test.args, result.Code, result.Stderr)
		}
	}
}

// TestNothingListens without the flag; with it, a socket of gangrun does.
func TestNothingListens(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--metrics-addr", "127.0.0.1:29400"}} {
		argv := append([]string{harness.Binary(t), "run"}, flags...)
		p := harness.Start(t, limit, nil, append(argv, "--", "/bin/sh", "-c",
			"ls -l /proc/$PPID/fd; cat /proc/net/tcp /proc/net/tcp6")...)
		result := p.Wait()
		fds, sockets, _ := strings.Cut(result.Stdout, "local_address")
		listens := false
		for _, found := range regexp.MustCompile(`socket:\[(\d+)\]`).FindAllStringSubmatch(fds, -1) {
			listens = listens || strings.Contains(sockets, " "+found[1]+" ")
		}
		if result.Code != 0 || sockets == "" || listens != (flags != nil) {
			t.Errorf("%v: code %d, listens: %v\n%s", flags, result.Code, listens, result.Stdout)
		}
	}
}

// TestPortTaken: training does not depend on who looks at it.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := harness.Start(t, limit, nil, harness.Binary(t), "run", "--metrics-addr", taken.Addr().String(), "--", "true")
	if r := p.Wait(); r.Code != 0 || !strings.Contains(string(r.Stderr), "cannot serve metrics and health") {
		t.Errorf("%d %s", r.Code, r.Stderr)
	}
	bad := harness.Start(t, limit, nil, harness.Binary(t), "run", "--metrics-addr", "9400", "--", "true")
	if r := bad.Wait(); r.Code != exitcodes.CodeBadConfig || !strings.Contains(string(r.Stderr), "--metrics-addr 9400") {
		t.Errorf("%d %s", r.Code, r.Stderr)
	}
}

// TestExamples: promtool accepts the rules, the configuration, and the expressions of the dashboard.
func TestExamples(t *testing.T) {
	t.Parallel()
	promtool := harness.Peer(t, "promtool/promtool")
	dir := filepath.Join(harness.Root(), "examples", "observability")
	data, err := os.ReadFile(filepath.Join(dir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	rules := "groups:\n- name: dashboard\n  rules:\n"
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expr, _ := json.Marshal(strings.NewReplacer("$__rate_interval", "1m", "$node", ".*").Replace(target.Expr))
			rules += fmt.Sprintf("  - record: gangrun:panel%d\n    expr: %s\n", len(rules), expr)
		}
	}
	queries := filepath.Join(t.TempDir(), "queries.yaml")
	if err := os.WriteFile(queries, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		{"check", "rules", "--lint-fatal", filepath.Join(dir, "alerts.yaml"), queries},
		{"check", "config", filepath.Join(dir, "prometheus.yaml")},
	} {
		if out, err := exec.Command(promtool, argv...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", argv, err, out)
		}
	}
}
