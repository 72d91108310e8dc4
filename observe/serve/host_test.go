package serve

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/observe/account"
)

// TestNames: what names this machine, and what would be somebody else's.
func TestNames(t *testing.T) {
	const hosts = "127.0.0.1 localhost\n::1 ip6-localhost\n" +
		"10.0.0.5\tworker-0.llm.team.svc.cluster.local\tworker-0 # pod\n10.0.0.6 worker-1\nworker-0\n"
	pod := ownNames(":9400", "worker-0", hosts,
		"nameserver 10.0.0.1\nsearch team.svc.cluster.local. example.com\noptions ndots:5\n")
	for _, tt := range []struct {
		names names
		yes   string
		no    string
	}{
		{pod, "localhost localhost:9400 LOCALHOST. 127.0.0.1:9400 10.0.0.5 [::1]:9400 [fe80::1%25eth0] ::1 " +
			"worker-0 Worker-0:80 worker-0.llm worker-0.llm:9400 " +
			"worker-0.llm.team.svc worker-0.llm.team.svc.cluster.local. worker-0.example.com",
			"evil.example worker-0.evil.example worker-1 worker llm.team.svc 127.0.0.1.evil.example localhost.evil.example " +
				"example.com evil.localhost.example 1.2.3.4.5 0x7f000001"},
		{ownNames("metrics.example.com:9400", "c0ffee", "", ""), "metrics.example.com c0ffee", "example.com metrics"},
		{ownNames("10.0.0.5:9400", "", hosts, "search example.com"), "10.0.0.5 localhost",
			"worker-0 .example.com example.com"},
		{ownNames(":9400", "gpu-7.example.com", "", "domain example.com"), "gpu-7.example.com", "gpu-8.example.com"},
	} {
		for _, host := range strings.Fields(tt.yes) {
			if !tt.names.mean(host) {
				t.Errorf("%s is none of %v", host, tt.names)
			}
		}
		for _, host := range strings.Fields(tt.no) {
			if tt.names.mean(host) {
				t.Errorf("%s is one of %v", host, tt.names)
			}
		}
	}
	if !pod.mean("") {
		t.Error("a request without a host is no browser's")
	}
}

// TestRebinding: a browser that was led here by another's name is shown nothing. Prometheus, which scrapes by the names
// of services, and probes of health are answered whatever they call this.
func TestRebinding(t *testing.T) {
	address := server(t, &account.Summary{Node: "gpu-7"}, 0)
	own, _ := os.Hostname()
	guarded := []string{"/", "/status", "/events"}
	for _, path := range []string{"/", "/status", "/events", "/metrics", "/healthz", "/readyz"} {
		for _, host := range []string{address, "localhost", own, "evil.example:9400", "llm.team.svc:9400"} {
			// The feed has no end: HEAD is answered at once.
			request, _ := http.NewRequest("HEAD", "http://"+address+path, nil)
			request.Host = host
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			want := http.StatusOK
			foreign := host == "evil.example:9400" || host == "llm.team.svc:9400"
			if foreign && slices.Contains(guarded, path) {
				want = http.StatusForbidden
			}
			if answer.StatusCode != want {
				t.Errorf("%s as %s: %d, want %d", path, host, answer.StatusCode, want)
			}
		}
	}
}
