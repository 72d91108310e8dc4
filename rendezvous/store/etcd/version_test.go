package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestOvertakes(t *testing.T) {
	for version, want := range map[string]bool{
		"3.3.27": true, "3.4.23": true, "3.4.24": true, "3.4.25": false, "3.4.34": false, "3.5.0": true, "3.5.7": true,
		"3.5.8": false, "3.5.21": false, "3.6.0": false, "3.6.0-rc.1": false, "3.5.7-patched": true, "3.7.3": false,
		"4.0.0": false, "2.3.8": true, "": true, "3.6": true, "not a version": true, "3.x.1": true,
	} {
		if got := overtakes(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

// members are those of a cluster, by endpoint: of which version each is, or why it does not say.
type members struct {
	clientv3.Maintenance
	versions map[string]string
}

func (m members) Status(_ context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	if m.versions[endpoint] == "" {
		return nil, context.DeadlineExceeded
	}
	return &clientv3.StatusResponse{Version: m.versions[endpoint]}, nil
}

// TestOneWarningOfAnOldEtcd: one member that tells too early how far a watch is makes them all suspect, and that is said
// once, with its version. What does not answer may be such a one, and nothing is known to be wrong with it.
func TestOneWarningOfAnOldEtcd(t *testing.T) {
	for name, tc := range map[string]struct {
		versions []string
		suspect  bool
		says     string // empty: nothing
	}{
		"all are new":         {[]string{"3.5.21", "3.6.0", "3.7.3"}, false, ""},
		"one is old":          {[]string{"3.5.21", "3.5.7", "3.5.21"}, true, "version=3.5.7"},
		"Debian's":            {[]string{"3.4.23", "3.4.23", "3.4.23"}, true, "version=3.4.23"},
		"one does not answer": {[]string{"3.5.21", "", "3.5.21"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			s := newStore("/p/", time.Second, slog.New(slog.NewTextHandler(&log, nil)))
			s.client = clientv3.NewCtxClient(t.Context())
			m := members{versions: map[string]string{}}
			s.client.Maintenance = m
			for i, version := range tc.versions {
				endpoint := fmt.Sprint("http://member", i)
				s.access.endpoints, m.versions[endpoint] = append(s.access.endpoints, endpoint), version
			}
			s.askVersions(t.Context())
			warned := strings.Count(log.String(), "level=WARN")
			if s.suspect != tc.suspect || !strings.Contains(log.String(), tc.says) || warned != min(len(tc.says), 1) {
				t.Errorf("suspect: %v; says %q", s.suspect, log.String())
			}
		})
	}
}
