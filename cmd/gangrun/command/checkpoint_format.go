package command

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// formatFlags say what the checkpoints look like. Both the commands that look at them and those that resume from them
// have these, under names of their own.
type formatFlags struct {
	prefix  string // of the names
	format  string
	pattern string
	step    *regexp.Regexp
	marker  string
	ignore  []string
}

// customFormat is the name of the format that a user's own rule describes.
const customFormat = "custom"

func (f *formatFlags) settings() []*setting {
	return []*setting{
		{name: f.prefix + "format", group: groupCheckpoint, hint: "NAME", parse: f.parseFormat, standard: "auto-detected",
			values: format.Formats(), usage: "what wrote the checkpoints: " + strings.Join(format.Formats(), ", ")},
		{name: f.prefix + "pattern", group: groupCheckpoint, hint: "GLOB", parse: f.parsePattern, standard: "none",
			usage: "names of the checkpoints, for an unknown format"},
		{name: f.prefix + "step-regex", group: groupCheckpoint, hint: "RE", parse: f.parseStep, standard: "the last number in the name",
			usage: "with --" + f.prefix + "pattern: finds the step in the name, as its first group"},
		{name: f.prefix + "marker", group: groupCheckpoint, hint: "FILE", parse: f.parseMarker, standard: "none",
			usage: "with --" + f.prefix + "pattern: the file within a checkpoint that is written last"},
		{name: f.prefix + "ignore", group: groupCheckpoint, many: true, hint: "GLOB", parse: f.parseIgnore, standard: "none",
			usage: "names, or paths in the directory, of what does not belong to this training run: a base model, data; can be given several times"},
	}
}

func (f *formatFlags) parseFormat(s string) error {
	if !format.Known(s) {
		return fmt.Errorf("want one of %s%s", strings.Join(format.Formats(), ", "), nearest(s, format.Formats()))
	}
	f.format = s
	return nil
}

func (f *formatFlags) parsePattern(s string) error {
	f.pattern = s
	return (&format.Rule{Glob: s}).Valid()
}

func (f *formatFlags) parseStep(s string) (err error) {
	if f.step, err = regexp.Compile(s); err != nil {
		return err
	}
	return (&format.Rule{Glob: "*", Step: f.step}).Valid()
}

func (f *formatFlags) parseMarker(s string) error {
	f.marker = s
	return (&format.Rule{Glob: "*", Marker: s}).Valid()
}

func (f *formatFlags) parseIgnore(s string) error {
	if _, err := path.Match(s, ""); err != nil || s == "" {
		return fmt.Errorf("the glob %q is malformed", s)
	}
	f.ignore = append(f.ignore, strings.TrimSuffix(strings.TrimPrefix(s, "./"), "/"))
	return nil
}

// check refuses half a rule, and one for another format.
func (f *formatFlags) check() error {
	own := "--" + f.prefix
	switch {
	case f.pattern == "" && f.step != nil:
		return &configError{own + "step-regex: want " + own + "pattern, too"}
	case f.pattern == "" && f.marker != "":
		return &configError{own + "marker: want " + own + "pattern, too"}
	case f.pattern == "" && f.format == customFormat:
		return &configError{own + "format " + customFormat + ": want " + own + "pattern, too"}
	case f.pattern != "" && f.format != "" && f.format != customFormat:
		return &configError{fmt.Sprintf("%spattern is for checkpoints of no known format, and %sformat is %s", own, own, f.format)}
	}
	return nil
}

// lastNumber finds the step in a name when the user does not say how.
const lastNumber = `(\d+)\D*$`

// options are those of a look at them.
func (f *formatFlags) options() format.Options {
	o := format.Options{Format: f.format, Level: format.Manifests, Ignore: f.ignore}
	if f.pattern == "" {
		return o
	}
	o.Rule = &format.Rule{Glob: f.pattern, Step: f.step, Marker: f.marker}
	if o.Rule.Step == nil {
		o.Rule.Step = regexp.MustCompile(lastNumber)
	}
	return o
}
