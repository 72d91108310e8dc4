package command

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/gangrun/gangrun/internal/plain"
)

// configError is something wrong in a flag, a variable or the configuration file. Nothing was started.
type configError struct{ text string }

func (e *configError) Error() string { return e.text }

// setting is one thing that can be set: by --name, by GANGRUN_NAME, by a key in the configuration file.
type setting struct {
	name     string
	group    string // the heading in the help
	short    string // a second, one-letter name; most have none
	hint     string // what the value looks like, for the help
	usage    string
	standard string   // the default, for the help
	values   []string // what shells complete; nil: the values that the hint lists, if it lists all
	isBool   bool
	hidden   bool // not in the help
	many     bool // can be given several times, each of which counts
	parse    func(string) error
	// mapping makes a mapping in the configuration file into values for parse; nil where there can be none.
	mapping func(*yaml.Node) ([]string, error)
	given   []string          // values of the flag, as often as it was given
	others  map[string]string // of config: keys in the file that only other commands have, and where
	from    string            // where its value is from, as it is written there; "" where nobody has set it
	source  int               // which kind of place that is: a higher one outranks a lower one
}

// The places that a value can come from.
const (
	sourceFile = iota + 1
	sourceVariable
	sourceFlag
)

const variablePrefix = "GANGRUN_"

func (s *setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// The methods of flag.Value. Set only collects: the value is read when all sources are known, so that every error can
// say where it came from.

func (s *setting) Set(value string) error { s.given = append(s.given, value); return nil }

// String is what the library copies from a flag's one name to the other.
func (s *setting) String() string {
	if len(s.given) == 0 {
		return ""
	}
	return s.given[len(s.given)-1]
}

func (s *setting) IsBoolFlag() bool { return s.isBool }

// settingFlag shows a setting to the command line library without letting it read the variable by itself.
type settingFlag struct {
	*cli.GenericFlag
	setting *setting
}

func (f settingFlag) Apply(set *flag.FlagSet) error {
	for _, name := range f.Names() {
		set.Var(f.setting, name, f.setting.usage)
	}
	return nil
}

// Names replaces the library's, which searches the name for commas with a regular expression each time it is asked.
func (f settingFlag) Names() []string {
	if f.setting.short != "" {
		return []string{f.setting.name, f.setting.short}
	}
	return []string{f.setting.name}
}

func (f settingFlag) String() string { left, right := f.setting.help(); return left + "\t" + right }

// help is a setting's line in the help: how it is written, and what it does.
func (s *setting) help() (left, right string) {
	left = "--" + s.name
	if s.short != "" {
		left = "-" + s.short + ", " + left
	}
	if s.hint != "" {
		left += " " + s.hint
	}
	right = s.usage
	if s.standard != "" && s.standard != "none" {
		right += " (default: " + s.standard + ")"
	}
	return left, right
}

func flags(settings []*setting) []cli.Flag {
	var list []cli.Flag
	for _, s := range settings {
		list = append(list, settingFlag{&cli.GenericFlag{Name: s.name, Value: s}, s})
	}
	return list
}

// resolve reads every setting from where it was set: flag, then variable, then configuration file. It returns the first
// error, and reads on all the same: where the error is to be reported is a setting, too.
func resolve(settings []*setting, lookup func(string) (string, bool)) error {
	if err := swallowed(settings); err != nil {
		return err
	}
	file := settingOf(settings, "config")
	var fromFile map[string]fileValue
	var first error
	if path := file.value(lookup); path != "" {
		fromFile, first = readConfig(path, settings)
	}
	for _, s := range settings {
		if err := s.resolve(lookup, fromFile); first == nil {
			first = err
		}
	}
	return first
}

// resolveGiven reads the settings of a command that has neither variables nor a configuration file.
func resolveGiven(settings []*setting) error {
	if err := swallowed(settings); err != nil {
		return err
	}
	for _, s := range settings {
		if err := s.resolve(func(string) (string, bool) { return "", false }, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *setting) value(lookup func(string) (string, bool)) string {
	if len(s.given) > 0 {
		return s.given[len(s.given)-1]
	}
	v, _ := lookup(s.variable())
	return v
}

func (s *setting) resolve(lookup func(string) (string, bool), fromFile map[string]fileValue) error {
	if len(s.given) > 0 {
		s.from, s.source = "--"+s.name, sourceFlag
		for _, value := range s.given {
			if err := s.parse(value); err != nil {
				return wrong("--%s %s: %v", s.name, orQuotes(value), err)
			}
		}
		return nil
	}
	if value, found := lookup(s.variable()); found && !serviceLink(s.variable(), value) {
		s.from, s.source = s.variable(), sourceVariable
		if err := s.parse(value); err != nil {
			return wrong("variable %s=%s: %v", s.variable(), value, err)
		}
		return nil
	}
	for _, value := range fromFile[s.name].values {
		s.from, s.source = s.name+" in "+fromFile[s.name].where, sourceFile
		if err := s.parse(value); err != nil {
			return wrong("%s: %s: %s: %v", fromFile[s.name].where, s.name, orQuotes(value), err)
		}
	}
	return nil
}

// orQuotes is a value as it is shown: an empty one as quotes.
func orQuotes(value string) string { return cmp.Or(value, `""`) }

// wrong is one line, whatever is in the value: errors repeat it, those of regular expressions as it is.
func wrong(format string, args ...any) error {
	return &configError{plain.Text(fmt.Sprintf(format, args...))}
}

// fileValue is what the configuration file says about one setting, and where.
type fileValue struct {
	values []string
	where  string // file:line
}

// readConfig reads a YAML mapping from the names of flags to their values; a list sets a flag several times.
func readConfig(path string, settings []*setting) (map[string]fileValue, error) {
	data, err := readBounded(path, 1<<20)
	if err != nil {
		return nil, &configError{fmt.Sprintf("--config: %v", err)}
	}
	var doc, more yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if err := documents.Decode(&doc); err != nil && err != io.EOF {
		return nil, &configError{fmt.Sprintf("%s: %s", path, strings.Join(strings.Fields(err.Error()), " "))} // on one line
	}
	switch err := documents.Decode(&more); {
	case err == nil && len(doc.Content) > 0:
		return nil, &configError{fmt.Sprintf("%s:%d: a second document (---); want one", path, max(more.Line, 1))}
	case err != nil && err != io.EOF:
		return nil, &configError{fmt.Sprintf("%s: %s", path, strings.Join(strings.Fields(err.Error()), " "))}
	}
	values := map[string]fileValue{}
	if len(doc.Content) == 0 {
		return values, nil // an empty file
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, &configError{fmt.Sprintf("%s:%d: want a mapping of settings to values", path, root.Line)}
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		where := fmt.Sprintf("%s:%d", path, key.Line)
		names := settingNames(settings)
		switch {
		case key.Value == "config":
			return nil, &configError{where + ": config cannot be set in a configuration file: it names that file"}
		case !slices.Contains(names, key.Value) && slices.Contains(names, "tty-rank") && commandWith(key.Value) != "": // local tries what is another's
			config := settings[slices.Index(names, "config")]
			if config.others == nil {
				config.others = map[string]string{}
			}
			config.others[key.Value] = where
			continue
		case !slices.Contains(names, key.Value):
			near := nearest(key.Value, names)
			if command := commandWith(key.Value); command != "" {
				near = "; it is a setting of gangrun " + command
			}
			return nil, &configError{fmt.Sprintf("%s: unknown key %q%s", where, key.Value, near)}
		case values[key.Value].where != "":
			return nil, &configError{fmt.Sprintf("%s: %s is set twice", where, key.Value)}
		}
		of := settings[slices.Index(names, key.Value)]
		read, err := of.fromFile(value)
		if err != nil {
			return nil, &configError{fmt.Sprintf("%s: %s: %v", where, key.Value, err)}
		}
		values[key.Value] = fileValue{read, where}
	}
	return values, nil
}

// fromFile is the setting's values in the configuration file, in the form of flags.
func (s *setting) fromFile(value *yaml.Node) (values []string, err error) {
	nodes := []*yaml.Node{value}
	switch {
	case value.Kind == yaml.MappingNode && s.mapping != nil:
		return s.mapping(value)
	case value.Kind == yaml.SequenceNode && !s.many:
		return nil, errors.New("want one value, not a list")
	case value.Kind == yaml.SequenceNode:
		nodes = value.Content
	}
	for _, node := range nodes {
		if node.Kind != yaml.ScalarNode {
			return nil, errors.New("want a value, not a structure")
		}
		values = append(values, node.Value)
	}
	return values, nil
}

// settingOf is the setting of that name; where the command has none, one that nobody has set.
func settingOf(settings []*setting, name string) *setting {
	for _, s := range settings {
		if s.name == name {
			return s
		}
	}
	return &setting{}
}

func settingNames(settings []*setting) []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	return names
}

// What the settings are read into.

func text(p *string) func(string) error {
	return func(s string) error { *p = s; return nil }
}

func boolean(p *bool) func(string) error {
	return func(s string) (err error) {
		if *p, err = strconv.ParseBool(s); err != nil {
			return errors.New("want true or false")
		}
		return nil
	}
}

func number(p *int, low, high int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return fmt.Errorf("want a number from %d to %d", low, high)
		}
		*p = n
		return nil
	}
}

func duration(p *time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return errors.New("want a duration such as 25s, 500ms, 2m or 48h")
		}
		*p = d
		return nil
	}
}

func choice[T ~string](p *T, among ...T) func(string) error {
	return func(s string) error {
		if slices.Contains(among, T(s)) {
			*p = T(s)
			return nil
		}
		var names []string
		for _, a := range among {
			names = append(names, string(a))
		}
		return fmt.Errorf("want one of %s%s", strings.Join(names, ", "), nearest(s, names))
	}
}
