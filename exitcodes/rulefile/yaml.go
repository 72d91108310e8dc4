package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// wantRules is how a file of rules begins.
const wantRules = "want rules: and below it a list of them"

type document struct {
	Rules []yaml.Node `yaml:"rules"`
}

// readDocument reads the one document of a file of rules.
func readDocument(file string, data []byte) (doc document, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	switch err := dec.Decode(&doc); {
	case err == io.EOF:
		return doc, fmt.Errorf("%s: it is empty; %s", file, wantRules)
	case err != nil:
		if _, shape := errors.AsType[*yaml.TypeError](err); shape {
			return doc, fmt.Errorf("%s: %w; %s", file, inYAML(err), wantRules)
		}
		return doc, fmt.Errorf("%s: %w", file, inYAML(err))
	}
	var more yaml.Node
	switch err := dec.Decode(&more); {
	case err == nil && len(more.Content) > 0:
		return doc, fmt.Errorf("%s:%d: a second document (---); want one", file, max(more.Line, 1))
	case err != nil && err != io.EOF:
		return doc, fmt.Errorf("%s: %w", file, inYAML(err))
	}
	return doc, nil
}

// typesInYAML are what the YAML library calls the types of Go, and a person does not.
var typesInYAML = []struct{ match, with string }{
	{"cannot unmarshal !!(\\w+)(?: (`[^`]*`))? into \\[\\][^\\s;]+", "want a list, not the $1 $2"},
	{"cannot unmarshal !!(\\w+)(?: (`[^`]*`))? into rulefile\\.\\w+", "want a mapping, not the $1 $2"},
	{"cannot unmarshal !!(\\w+)(?: (`[^`]*`))? into int", "want a number, not the $1 $2"},
	{"cannot unmarshal !!(\\w+)(?: (`[^`]*`))? into bool", "want true or false, not the $1 $2"},
	{"cannot unmarshal !!(\\w+)(?: (`[^`]*`))? into [^\\s;]+", "want a text, not the $1 $2"},
	{`field (\S+) not found in type \S+`, `unknown key "$1"`},
	{`not the (seq|map)\b`, "not a $1"},
	{`not a seq\b`, "not a list"},
	{`not a map\b`, "not a mapping"},
	{`not the str\b`, "not the text"},
	{`not the int\b`, "not the number"},
	{`^yaml: (unmarshal errors: )?`, ""},
}

// inYAML is the library's error on one line and without the names of Go's types. It has lines.
func inYAML(err error) error {
	text := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "errors:\n", "errors:"), "\n", ";")
	text = strings.Join(strings.Fields(text), " ")
	for _, t := range typesInYAML {
		text = regexp.MustCompile(t.match).ReplaceAllString(text, t.with)
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}
