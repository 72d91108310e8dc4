package command

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/supervisor/hang"
)

// TestWhatDoesNothingIsNoted are settings that have a use elsewhere: the run goes on, and its log says so.
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
		{"of the image, overruled", map[string][]string{"no-restart": {"true"}}, map[string]string{"GANGRUN_RESTART_BACKOFF": "3s"}, "", ""},
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

// TestHigherSourceWins: of two settings that contradict each other the flag outranks the variable, and that the file. One
// line tells of the other; two flags are refused.
func TestHigherSourceWins(t *testing.T) {
	type flags = map[string][]string
	type env = map[string]string
	quiet := func(o *options) bool { return o.quiet }
	never := func(o *options) bool { return o.spec.Restarts.Never }
	off := func(o *options) bool { return o.Hang.Mode == hang.Off }
	own := func(o *options) bool { return o.resuming.own == resumeOwn }
	for _, tt := range []struct {
		flags   flags
		env     env
		file    string
		holds   func(*options) bool
		want    bool
		noted   string
		refused string
	}{
		{flags{"max-restarts": {"3"}}, nil, "no-restart: true\n", never, false, "no-restart in c.yaml:1 (with --max-restarts)", ""},
		{flags{"max-restarts": {"3"}}, env{"GANGRUN_NO_RESTART": "1"}, "", never, false, "GANGRUN_NO_RESTART (with --max-restarts)", ""},
		{flags{"max-restarts": {"3"}, "restart-backoff": {"2s"}}, env{"GANGRUN_NO_RESTART": "1"}, "", never, false, "GANGRUN_NO_RESTART (with --max-restarts)", ""},
		{flags{"max-restarts": {"0"}}, env{"GANGRUN_NO_RESTART": "1"}, "", never, true, "", ""},
		{flags{"no-restart": {"true"}}, nil, "max-restarts: 3\n", never, true, "max-restarts in c.yaml:1 (with --no-restart)", ""},
		{nil, env{"GANGRUN_NO_RESTART": "1"}, "max-restarts: 3\n", never, true, "max-restarts in c.yaml:1 (with GANGRUN_NO_RESTART)", ""},
		{nil, nil, "max-restarts: 3\nno-restart: true\n", never, true, "max-restarts in c.yaml:1 (with no-restart in c.yaml:2)", ""},
		{nil, env{"GANGRUN_NO_RESTART": "1", "GANGRUN_MAX_RESTARTS": "3"}, "", never, true, "GANGRUN_MAX_RESTARTS (with GANGRUN_NO_RESTART)", ""},
		{flags{"log-level": {"debug"}}, env{"GANGRUN_QUIET": "1", "GANGRUN_LOG_FORMAT": "json"}, "", quiet, false, "GANGRUN_QUIET (with --log-level)", ""},
		{flags{"quiet": {"true"}}, env{"GANGRUN_LOG_LEVEL": "debug"}, "", quiet, true, "GANGRUN_LOG_LEVEL (with --quiet)", ""},
		{flags{"quiet": {"true"}, "log-level": {"debug"}}, env{"GANGRUN_LOG_FORMAT": "json"}, "", nil, false, "", "--quiet and --log-level contradict"},
		{nil, env{"GANGRUN_QUIET": "1", "GANGRUN_LOG_LEVEL": "debug"}, "", quiet, true, "GANGRUN_LOG_LEVEL (with GANGRUN_QUIET)", ""},
		{flags{"hang-timeout": {"3s"}}, env{"GANGRUN_HANG": "off"}, "", off, true, "--hang-timeout (with GANGRUN_HANG)", ""},
		{flags{"hang": {"off"}}, env{"GANGRUN_HANG_TIMEOUT": "3s"}, "", off, true, "GANGRUN_HANG_TIMEOUT (with --hang off)", ""},
		{flags{"checkpoint-dir": {"/x"}, "checkpoint-require": {"always"}}, env{"GANGRUN_RESUME": "own"}, "", own, true, "--checkpoint-require (with GANGRUN_RESUME)", ""},
	} {
		o := defaultOptions()
		settings := o.runSettings()
		path := t.TempDir() + "/c.yaml"
		if err := os.WriteFile(path, []byte(tt.file), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, s := range settings {
			s.given = mergeFlags(tt.flags, "config", path)[s.name]
		}
		lookup := func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }
		err := resolve(settings, lookup)
		if err == nil {
			err = o.contradictions(settings, lookup)
		}
		noted := strings.ReplaceAll(strings.Join(o.noted, "; "), path, "c.yaml")
		switch {
		case tt.refused != "":
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), path, "c.yaml"), tt.refused) {
				t.Errorf("%v %v %q: got %v, want %q", tt.flags, tt.env, tt.file, err, tt.refused)
			}
		case err != nil || noted != tt.noted || tt.holds(o) != tt.want:
			t.Errorf("%v %v %q: %v, noted %q, want %q", tt.flags, tt.env, tt.file, err, noted, tt.noted)
		}
	}
}
