// Generate writes the rules of a file as Go, after it has checked them: a program that has them so need not read YAML.
// It imports nothing of what it writes, so that it works while that is broken.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"reflect"

	"github.com/gangrun/gangrun/exitcodes/rulefile"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate FROM.yaml TO.go")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	rules, err := rulefile.Read(from, data)
	if err != nil {
		return err
	}
	source, err := format.Source(code(from, rules))
	if err != nil {
		return err
	}
	return os.WriteFile(to, source, 0o644)
}

// code is one line for each rule, so that what is changed in one file is changed in the same places of the other.
func code(from string, rules []rulefile.Rule) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated from %s by go generate. DO NOT EDIT.\n\n", from)
	b.WriteString("package exitcodes\n\nimport \"github.com/gangrun/gangrun/exitcodes/rulefile\"\n\n")
	b.WriteString("var builtin = []rulefile.Rule{\n")
	for _, rule := range rules {
		b.WriteString("{")
		for field, value := range reflect.ValueOf(rule).Fields() {
			if !value.IsZero() {
				fmt.Fprintf(&b, "%s: %#v, ", field.Name, value)
			}
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	return b.Bytes()
}
