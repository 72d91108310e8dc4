package command

import (
	"encoding/json"
	"fmt"
	"slices"
)

// contradictions refuses flags that cannot both be meant, and flags that would do nothing: nothing that was typed is
// passed over. A variable or a file may say more than one command needs.
func (o *options) contradictions(settings []*setting, lookup func(string) (string, bool)) error {
	given := func(name string) bool {
		return slices.ContainsFunc(settings, func(s *setting) bool { return s.name == name && len(s.given) > 0 })
	}
	if o.spec.Restarts.Never && o.spec.Restarts.Max > 0 && given("no-restart") && given("max-restarts") {
		return &configError{fmt.Sprintf("--no-restart and --max-restarts %d contradict each other", o.spec.Restarts.Max)}
	}
	if o.quiet && given("quiet") && given("log-level") {
		return &configError{"--quiet and --log-level contradict each other"}
	}
	for _, name := range []string{"preflight-command", "preflight-timeout"} {
		if !o.Preflight.On && !o.doctor && given(name) {
			return &configError{fmt.Sprintf("--%s goes with --preflight, which is not given", name)}
		}
	}
	if o.resuming.dir == "" {
		for _, s := range settings {
			if s.group == groupCheckpoint && s.name != "resume-args" && len(s.given) > 0 {
				return &configError{fmt.Sprintf("--%s goes with --checkpoint-dir, which is not given", s.name)}
			}
		}
	}
	return tfConfig(lookup)
}

// tfConfig refuses a TF_CONFIG that cannot be read: the job would run as one node, or TensorFlow fail later.
func tfConfig(lookup func(string) (string, bool)) error {
	text, found := lookup("TF_CONFIG")
	if !found || text == "" {
		return nil
	}
	var config struct {
		Cluster map[string]json.RawMessage
		Task    *struct{ Type string }
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return &configError{fmt.Sprintf("variable TF_CONFIG: %v", err)}
	}
	return nil
}
