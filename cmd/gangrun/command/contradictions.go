package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gangrun/gangrun/supervisor/platform"
)

// contradictions refuses flags that contradict each other, and flags that would do nothing: nothing that was typed is
// ignored. A variable or a file may say more than one command needs, which is only noted.
func (o *options) contradictions(settings []*setting, lookup func(string) (string, bool)) error {
	given := func(name string) bool {
		return slices.ContainsFunc(settings, func(s *setting) bool { return s.name == name && len(s.given) > 0 })
	}
	if o.spec.Restarts.Never && o.spec.Restarts.Max > 0 && given("no-restart") && given("max-restarts") {
		return &configError{fmt.Sprintf("--no-restart and --max-restarts %d contradict each other", o.spec.Restarts.Max)}
	}
	if err := o.refuseIdle(settings, o.idle(settings)); err != nil {
		return err
	}
	return tfConfig(lookup)
}

// tfConfig refuses a TF_CONFIG that cannot be read: the job would run as one node, or TensorFlow fail later.
func tfConfig(lookup func(string) (string, bool)) error {
	text, found := lookup("TF_CONFIG")
	if !found || text == "" {
		return nil
	}
	const want = `want {"cluster": {ROLE: [ADDRESS, ...]}, "task": {"type": ROLE, "index": N}}`
	config, err := platform.ParseTFConfig(text)
	wrong := (*json.UnmarshalTypeError)(nil)
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return &configError{fmt.Sprintf("variable TF_CONFIG: %s: a JSON %s; %s", wrong.Field, wrong.Value, want)}
	case errors.As(err, &wrong):
		return &configError{fmt.Sprintf("variable TF_CONFIG: a JSON %s; %s", wrong.Value, want)}
	case err != nil:
		return &configError{fmt.Sprintf("variable %v; %s", err, want)}
	}
	if of, known := config.Addresses(config.Task.Type); known && len(of) > 0 && config.Task.Index != nil {
		if index, valid := config.Index(); !valid || index >= len(of) {
			return &configError{fmt.Sprintf("variable TF_CONFIG: task.index %v: the cluster has %d of type %s, counted from 0",
				config.Task.Index, len(of), config.Task.Type)}
		}
	}
	return nil
}
