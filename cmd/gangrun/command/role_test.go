package command

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/rendezvous"
)

func TestRoles(t *testing.T) {
	want := map[string]rendezvous.RolePolicy{
		"ps":        {Restart: rendezvous.RestartGang, Optional: true},
		"evaluator": {Restart: rendezvous.RestartNever},
	}
	o, err := configure(t, map[string][]string{"roles": {"ps=gang,optional", "evaluator=never"}}, nil, "")
	if err != nil || !reflect.DeepEqual(o.roles, want) {
		t.Errorf("flags: %+v, %v", o.roles, err)
	}
	file := "roles:\n  ps: {required-for-success: false}\n  evaluator:\n    restart: never\n    required-for-success: true\n"
	if o, err = configure(t, nil, nil, file); err != nil || !reflect.DeepEqual(o.roles, want) {
		t.Errorf("file: %+v, %v", o.roles, err)
	}
	for name, tc := range map[string]struct{ flag, file, says string }{
		"no policy":       {"ps", "", "want ROLE="},
		"no role":         {"=self", "", "want ROLE="},
		"no such restart": {"ps=gan", "", "did you mean gang?"},
		"no such word":    {"ps=gang,maybe", "", "want ROLE="},
		"no mapping":      {"", "roles:\n  ps: gang\n", "ps: want restart and required-for-success"},
		"unknown key":     {"", "roles:\n  ps: {restarts: gang}\n", `roles: ps: unknown key "restarts"; did you mean restart?`},
		"no truth":        {"", "roles:\n  ps: {required-for-success: perhaps}\n", "want true or false"},
		"a bad restart":   {"", "roles:\n  ps: {restart: all}\n", "want one of gang, self, never"},
		"not here":        {"", "grace: {ps: 1}\n", "want a value, not a structure"},
	} {
		flags := map[string][]string{}
		if tc.flag != "" {
			flags["roles"] = []string{tc.flag}
		}
		if _, err := configure(t, flags, nil, tc.file); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRolesOfTensorFlow is what a node takes from TF_CONFIG, and what is said against it.
func TestRolesOfTensorFlow(t *testing.T) {
	env := map[string]string{"TF_CONFIG": `{"cluster":{"chief":["127.0.0.1:2222"],"worker":["j-worker-0.ns.svc:2222"],` +
		`"ps":["j-ps-0.ns.svc:2222"],"evaluator":["j-evaluator-0.ns.svc:2222"]},"task":{"type":"worker","index":0}}`}
	o, err := settled(t, map[string]string{"roles": "worker=gang"}, env)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]rendezvous.RolePolicy{
		"worker":    {Restart: rendezvous.RestartGang},
		"ps":        {Restart: rendezvous.RestartGang, Optional: true},
		"evaluator": {Restart: rendezvous.RestartSelf, Optional: true},
	}
	if o.role != "worker" || o.Role != "worker" || !reflect.DeepEqual(o.spec.Roles, want) {
		t.Errorf("role %q, roles %+v", o.role, o.spec.Roles)
	}
}
