package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/rendezvous"
)

// TestPolicy: a browser may run the page's own script and style, listen to where it came from, and nothing else.
func TestPolicy(t *testing.T) {
	answer, body := get(t, "GET", "http://"+server(t, &account.Summary{}, 0)+"/")
	if answer.StatusCode != 200 || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") || body != page {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
	got := answer.Header.Get("Content-Security-Policy")
	hash := `'sha256-[A-Za-z0-9+/]{43}='`
	if !regexp.MustCompile(
		`^default-src 'none'; script-src ` + hash + `; style-src ` + hash + `; connect-src 'self'; frame-ancestors 'none'; ` +
			`base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'$`,
	).MatchString(got) {
		t.Errorf("policy %q", got)
	}
	if policy(strings.Replace(page, "textContent", "innerHTML", 1)) == got ||
		policy(strings.Replace(page, "color:", "colour:", 1)) == got {
		t.Error("it does not depend on what it allows")
	}
}

// TestPageIsPlain: one file that fetches nothing and has no other way to put text in than as text.
func TestPageIsPlain(t *testing.T) {
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http:",
		"https:", "src=", "@import", "url(", " on[a-z]+=", "style=", "srcdoc"} {
		found := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(bad), `on\[a-z\]\+`, `on[a-z]+`)).FindString(
			strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""),
		)
		if found != "" {
			t.Errorf("%q is in it", found)
		}
	}
	if strings.Count(page, "<script>") != 1 || strings.Count(page, "<style>") != 1 ||
		strings.Contains(page, "<script ") ||
		strings.Contains(page, "<link") {
		t.Error("one script and one style sheet, in the page itself")
	}
	for _, control := range regexp.MustCompile(`(?s)<(?:button|select)[ >].*?</(?:button|select)>`).FindAllString(page,
		-1) {
		named := regexp.MustCompile(`^<button[^>]*>[^<]+<`).MatchString(control)
		if !named && !regexp.MustCompile(`<label>[^<]+`+regexp.QuoteMeta(control[:20])).MatchString(page) {
			t.Errorf("a control without a name: %s", control)
		}
	}
}

// told is one Server-Sent Event.
type told struct{ name, data string }

// listen connects, and hands out what it is told.
func listen(t *testing.T, address string) (events <-chan told, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, _ := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/events", nil)
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %+v", err, answer)
	}
	out := make(chan told, 1000)
	go func() {
		defer close(out)
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		var e told
		for lines.Scan() {
			switch line := lines.Text(); {
			case line == "":
				out <- e
			case strings.HasPrefix(line, "event: "):
				e.name = line[7:]
			case strings.HasPrefix(line, "data: "):
				e.data = line[6:]
			}
		}
	}()
	return out, cancel
}

func next(t *testing.T, events <-chan told, name string) string {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case e, more := <-events:
			if !more {
				t.Fatalf("the end came before %s", name)
			}
			if e.name == name {
				return e.data
			}
		case <-late:
			t.Fatalf("no %s", name)
		}
	}
}

// TestFeed: the page is shown what /status says, hostile as it may be, and what there is to draw whenever it has
// changed.
func TestFeed(t *testing.T) {
	hostile := "<script>alert(1)</script>\x1b[2J\u2028\n\ndata: x"
	step := int64(7)
	at := time.Now().UTC()
	s := &account.Summary{
		Node:        hostile,
		Step:        &step,
		At:          at,
		Disruptions: []account.Disruption{{Why: hostile, Cause: &event.Failed{Evidence: hostile}}},
	}
	feed := NewFeed(func() *Job { return &Job{Round: 3, Members: []Member{{Name: hostile}}} })
	address := serving(t, func() account.Summary { return *s }, 0, feed).Addr().String()
	events, _ := listen(t, address)
	var shown struct {
		Status json.RawMessage
		Job    Job
	}
	raw := next(t, events, "status")
	if strings.ContainsAny(raw, "<>\x1b\u2028") {
		t.Errorf("%s", raw)
	}
	if err := json.Unmarshal([]byte(raw), &shown); err != nil || shown.Job.Members[0].Name != hostile {
		t.Errorf("%v %+v", err, shown)
	}
	_, status := get(t, "GET", "http://"+address+"/status")
	var a, b any
	if json.Unmarshal(shown.Status, &a) != nil || json.Unmarshal([]byte(status), &b) != nil ||
		fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("the page says\n%v\nthe status\n%v", a, b)
	}
	if first := next(t, events, "timeline"); !strings.Contains(first, `"spans":[]`) {
		t.Errorf("%s", first)
	}
	number := 3
	feed.Take(
		[]event.Event{
			{
				V:      1,
				ID:     "s-1",
				Seq:    1,
				Source: "s",
				At:     at,
				Type:   event.RoundBegan,
				Round:  &number,
				Began:  &event.Began{},
			},
		},
	)
	var drawn struct {
		Spans  []struct{ Phase string }
		Rounds []round
	}
	if err := json.Unmarshal([]byte(next(t, events, "timeline")), &drawn); err != nil || len(drawn.Spans) != 1 ||
		drawn.Spans[0].Phase != "starting" ||
		len(drawn.Rounds) != 1 ||
		drawn.Rounds[0].Members[0] != hostile {
		t.Errorf("%v %+v", err, drawn)
	}
}

// TestLongListener: one that reads is served for longer than a request may take to come in, or an answer to go out.
func TestLongListener(t *testing.T) {
	feed := NewFeed(nil)
	server := serving(t, func() account.Summary { return account.Summary{} }, 200*time.Millisecond, feed)
	events, _ := listen(t, server.Addr().String())
	for i := range 5 {
		next(t, events, "timeline")
		feed.Take([]event.Event{{V: 1, ID: "s", Seq: int64(i + 1), Source: "s", At: time.Now(), Type: event.Progress}})
	}
}

// TestLastWords: whoever looks is shown the end before the connection is.
func TestLastWords(t *testing.T) {
	var now atomic.Pointer[account.Summary]
	now.Store(&account.Summary{Phase: account.Running})
	server := serving(t, func() account.Summary { return *now.Load() }, 0, NewFeed(nil))
	events, _ := listen(t, server.Addr().String())
	next(t, events, "timeline")
	now.Store(&account.Summary{Phase: account.Ended})
	server.Close()
	last := ""
	for e := range events {
		if e.name == "status" {
			last = e.data
		}
	}
	if !strings.Contains(last, `"phase":"ended"`) {
		t.Errorf("the last that was shown is %s", last)
	}
}

// TestListeners are bounded, and there is room again when one goes. Whoever asks for the head only is none.
func TestListeners(t *testing.T) {
	address := server(t, &account.Summary{}, 0)
	var stops []func()
	for range mostListeners {
		events, stop := listen(t, address)
		next(t, events, "status")
		stops = append(stops, stop)
	}
	answer, _ := get(t, "GET", "http://"+address+"/events")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
	stops[0]()
	for code := 0; code != 200; {
		answer, _ := get(t, "HEAD", "http://"+address+"/events")
		code = answer.StatusCode
	}
	if answer, _ := get(t, "POST", "http://"+address+"/events"); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", answer.StatusCode)
	}
}

// TestSlowListener: one that does not read is dropped, and taking events never waits for it.
func TestSlowListener(t *testing.T) {
	feed := NewFeed(nil)
	large := account.Summary{Job: strings.Repeat("x", 8<<20)} // more than any buffer takes
	server := serving(t, func() account.Summary { return large }, 300*time.Millisecond, feed)
	c, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	limit := time.Now().Add(30 * time.Second)
	for _, there := range []bool{true, false} {
		for server.looking.Load() > 0 != there {
			if time.Now().After(limit) {
				t.Fatalf("it is listened to: %v", !there)
			}
			began := time.Now()
			feed.Take([]event.Event{{V: 1, ID: "s", Seq: 1, Source: "s", At: began, Type: event.Progress}})
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("an event has waited %v", took)
			}
		}
	}
}

// TestJobOf names those of a thousand members that have stopped a round, and this node; the others are counted.
func TestJobOf(t *testing.T) {
	if JobOf(nil, nil, nil, "n") != nil {
		t.Error("a job without a record")
	}
	r := &rendezvous.Round{}
	for i := range 1024 {
		r.Members = append(r.Members, rendezvous.Member{Name: fmt.Sprint("n", i), Slots: 8})
	}
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	j := &rendezvous.Job{
		Phase: rendezvous.Running, Round: 2, History: []rendezvous.Past{{Round: 0, Node: "n700", Kind: "failure"},
			{Round: 1, Node: "n800", Kind: "failure"}},
		Stop: &rendezvous.Stop{Round: 1, Node: "n800", Kind: "failure", Message: "why", At: at},
		Bans: []rendezvous.Ban{{Host: "gpu-7", Until: at, Last: rendezvous.Fault{Round: 1, Node: "n800", Reason: "Hang", At: at}}},
	}
	reached := map[string]*rendezvous.Reached{}
	for i := range 1024 {
		step := int64(500 + i%3)
		reached[fmt.Sprint("n", i)] = &rendezvous.Reached{Round: r.Number, Step: &step}
	}
	least, old := int64(7), int64(3)
	reached["n900"] = &rendezvous.Reached{Round: r.Number, Step: &least, Phase: "checkpoint", Checkpoint: &old}
	reached["n901"] = &rendezvous.Reached{Round: r.Number - 1, Step: &old}
	reached["n902"] = &rendezvous.Reached{Round: r.Number}
	job := JobOf(j, r, reached, "n1000")
	names := map[string]bool{}
	for i, m := range job.Members {
		if names[m.Name] = true; i > 0 && job.Members[i-1].Rank >= m.Rank {
			t.Error("not in the order of the ranks")
		}
	}
	if len(names) != mostMembers || job.MemberCount != 1024 || job.Workers != 8192 || !names["n700"] ||
		!names["n800"] ||
		!names["n1000"] ||
		!names["n0"] {
		t.Errorf("%d of %d with %d workers: %v", len(names), job.MemberCount, job.Workers, names)
	}
	if len(job.Banned) != 1 || job.Banned[0] != (Banned{Host: "gpu-7", Until: at, Why: "Hang of n800 in round 1"}) {
		t.Errorf("banned: %+v", job.Banned)
	}
	if s := job.Steps; s == nil || *s != (Steps{Told: 1022, Least: 7, Most: 502, Node: "n900"}) || !names["n900"] {
		t.Errorf("%+v, %v", s, names)
	}
	for _, m := range job.Members {
		if m.Name == "n900" && (*m.Step != 7 || m.Phase != "checkpoint" || *m.Checkpoint != 3) {
			t.Errorf("%+v", m)
		}
	}
	if len(job.Stops) != 2 || job.Stops[1].Message != "why" {
		t.Errorf("%+v", job.Stops)
	}
}

// TestRoundsAreBounded: the members of the latest rounds are remembered.
func TestRoundsAreBounded(t *testing.T) {
	number := 0
	feed := NewFeed(func() *Job { return &Job{Round: number, Members: []Member{{Name: "n"}}} })
	for number = range 1000 {
		n := number
		feed.Take(
			[]event.Event{
				{
					V:      1,
					ID:     "s",
					Seq:    int64(n + 1),
					Source: "s",
					At:     time.Unix(int64(n), 0),
					Type:   event.RoundBegan,
					Round:  &n,
				},
			},
		)
	}
	if len(feed.rounds) != mostRounds || feed.rounds[mostRounds-1].Round != 999 {
		t.Errorf("%d rounds, %+v", len(feed.rounds), feed.rounds)
	}
}
