package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/platform"
)

// contradictions sorts out settings that contradict each other, and refuses flags that would do nothing: nothing that was
// typed is ignored. A variable or a file may say more than one command needs, which is only noted.
func (o *options) contradictions(settings []*setting, lookup func(string) (string, bool)) error {
	for _, c := range []contradiction{
		{o.quiet, "quiet", "", []string{"log-level", "log-format"}, func() { o.quiet = false }},
		{o.Hang.Mode == hang.Off, "hang", " off", []string{"hang-timeout", "exit-timeout"}, nil},
		{o.resuming.own == resumeOwn, "resume", " " + resumeOwn, []string{"checkpoint-require", "checkpoint-max-lost-steps", "on-silent-restart"}, nil},
	} {
		if err := o.contradicts(settings, c); err != nil {
			return err
		}
	}
	if settingOf(settings, "max-restarts").group != groupTorchrun { // else launch knows later what it is
		if err := o.contradictRestarts(settings); err != nil {
			return err
		}
	}
	if err := o.refuseIdle(settings, o.idle(settings)); err != nil {
		return err
	}
	return tfConfig(lookup)
}

func (o *options) contradictRestarts(settings []*setting) error {
	return o.contradicts(settings, contradiction{o.spec.Restarts.Never && o.spec.Restarts.Max > 0, "no-restart", "",
		[]string{"max-restarts"}, func() { o.spec.Restarts.Never = false }})
}

// contradiction is a setting with a value that leaves others nothing to say.
type contradiction struct {
	holds       bool
	name, value string
	others      []string
	undo        func() // of the setting, where one of the others outranks it; nil where that says nothing against it
}

// contradicts has the one from the higher source win, and notes that the other does nothing. Two flags of gangrun's are refused; a file,
// the variables of an image or torchrun's own command line may well say both, and there the one that leaves the others nothing to
// say wins.
func (o *options) contradicts(settings []*setting, c contradiction) error {
	if !c.holds {
		return nil
	}
	one := settingOf(settings, c.name)
	var others, all []string
	source := 0
	for _, s := range settings {
		if s.from == "" || !slices.Contains(c.others, s.name) {
			continue
		}
		if s.source > source {
			source, others = s.source, nil
		}
		if s.source == source {
			others = append(others, s.from)
		}
		all = append(all, s.from)
	}
	as := one.from
	if one.source == sourceFlag {
		as += c.value
	}
	switch {
	case source == 0:
	case source == sourceFlag && one.source == sourceFlag && settingOf(settings, c.others[0]).group != groupTorchrun:
		return &configError{fmt.Sprintf("%s and %s contradict each other", as, others[0])}
	case source > one.source && c.undo != nil:
		c.undo()
		o.noteIdle("with "+strings.Join(others, ", "), as)
	default:
		o.noteIdle("with "+as, all...)
	}
	return nil
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
