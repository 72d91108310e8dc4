package command

import (
	"maps"
	"strings"
	"testing"
)

// TestWhatDoesNothingIsNoted are settings that have a use elsewhere: the run goes on, and its log says so. What a flag
// overrules is as it should be, and not worth a word.
func TestWhatDoesNothingIsNoted(t *testing.T) {
	operator := map[string]string{"PET_NNODES": "1", "MASTER_ADDR": "a"}
	with := func(env map[string]string, name, value string) map[string]string {
		all := map[string]string{name: value}
		maps.Copy(all, env)
		return all
	}
	for _, tt := range []struct {
		name    string
		flags   map[string][]string
		env     map[string]string
		refused string
		noted   string
	}{
		{"nothing", nil, nil, "", ""},
		{"a certificate for no store", map[string][]string{"store-ca": {"/ca"}}, nil, "--store-ca goes with --store or --endpoint", ""},
		{"a port of no store", map[string][]string{"store-port": {"1"}}, nil, "--store-port goes with --store or --endpoint", ""},
		{"a manifest of more nodes, with one", map[string][]string{"store-token-file": {"/t"}}, operator, "", "--store-token-file (goes with --store or"},
		{"of the image", nil, map[string]string{"GANGRUN_STORE_CA": "/ca"}, "", "GANGRUN_STORE_CA (goes with --store or"},
		{"of the image, for hooks", nil, map[string]string{"GANGRUN_HOOK_TIMEOUT": "3s"}, "", "GANGRUN_HOOK_TIMEOUT (goes with --on-exit or"},
		{"for more nodes", map[string][]string{"grow": {"restart"}, "fence-timeout": {"1m"}}, nil, "", "--fence-timeout, --grow (one node needs no store)"},
		{"for another number of nodes", map[string][]string{"grow": {"restart"}, "nodes": {"2"}, "endpoint": {"127.0.0.1"}}, nil, "", "--grow (the number of nodes is fixed)"},
		{"for a number of nodes that changes", map[string][]string{"grow": {"restart"}, "nodes": {"1:2"}, "endpoint": {"127.0.0.1"}}, nil, "", ""},
		{"a pause before no restart", map[string][]string{"no-restart": {"true"}, "restart-backoff": {"3s"}}, nil, "", "--restart-backoff (with --no-restart)"},
		{"of the image, overruled", map[string][]string{"no-restart": {"true"}, "quiet": {"true"}},
			map[string]string{"GANGRUN_RESTART_BACKOFF": "3s", "GANGRUN_LOG_LEVEL": "debug"}, "", ""},
		{"a store's link", nil, with(operator, "GANGRUN_STORE_PORT", "tcp://10.0.0.1:2379"), "", ""},
		{"a rank that is not there", map[string][]string{"node-rank": {"3"}}, nil, "--node-rank 3: want one below the number of nodes, 1", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := defaultOptions()
			settings := o.runSettings()
			for _, s := range settings {
				s.given = tt.flags[s.name]
			}
			lookup := func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }
			p := detect(tt.env)
			err := resolve(settings, lookup)
			if err == nil {
				err = o.contradictions(settings, lookup)
			}
			if err == nil {
				err = o.settle(p)
			}
			if err == nil {
				err = o.refuseIdle(settings, o.idleAlone(p.Endpoint.Value != ""))
			}
			noted := strings.Join(o.noted, "; ")
			switch {
			case tt.refused == "" && err != nil, tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)):
				t.Errorf("got %v, want %q", err, tt.refused)
			case tt.noted == "" && noted != "", !strings.Contains(noted, tt.noted):
				t.Errorf("noted %q, want %q", noted, tt.noted)
			}
		})
	}
}
