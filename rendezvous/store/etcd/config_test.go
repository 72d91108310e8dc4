package etcd

import (
	"strings"
	"testing"
)

func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{
		"host", "host:2379", "https://[::1]:2379", "http://a/", "a@b", "http://u:p@h", "%zz", "http://h?x", "://", "http:",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, secure bool) {
		u, err := endpoint(text, secure)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %v", err)
			}
			return
		}
		if u.User != nil || u.Port() == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q: %v", text, u)
		}
		again, err := endpoint(u.String(), secure)
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q: %v, then %v, %v", text, u, again, err)
		}
	})
}
