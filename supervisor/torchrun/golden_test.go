package torchrun

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// readGolden reads what testdata/generate.py got from torch.
func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func environment(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// asPython is a value as torchrun's parser has it, in JSON.
func asPython(t *testing.T, f Flag, value string, given bool) any {
	t.Helper()
	if !given {
		value = f.Default
	}
	switch {
	case f.Kind == Switch:
		return value == "1"
	case f.Kind == List && !given:
		return []any{}
	case f.Kind == List:
		items := []any{}
		for _, item := range list(value) {
			items = append(items, item)
		}
		return items
	case value == "" && !given && f.Name != "rdzv-endpoint" && f.Name != "rdzv-conf" &&
		f.Name != "log-line-prefix-template" && f.Name != "local-ranks-filter":
		return nil
	case f.Kind == Int:
		n, err := number(value)
		if err != nil {
			t.Error(err)
		}
		return float64(n)
	case f.Kind == Float:
		x, err := decimal(value)
		if err != nil {
			t.Error(err)
		}
		return x
	}
	return value
}

func TestCommandLinesAsTorchrunReadsThem(t *testing.T) {
	var golden []struct {
		Args []string          `json:"args"`
		Env  map[string]string `json:"env"`
		Want any               `json:"want"`
	}
	readGolden(t, "commands.json", &golden)
	defaults := golden[0].Want.(map[string]any)
	for _, g := range golden {
		name := strings.Join(g.Args, " ")
		for k, v := range g.Env {
			name = k + "=" + v + " " + name
		}
		t.Run(name, func(t *testing.T) {
			w, err := split(g.Args, nil)
			if err == nil && !w.help {
				err = w.variables(environment(g.Env))
			}
			if want, ok := g.Want.(string); ok {
				got := "parsed"
				switch {
				case err != nil || w.noScript && !w.help:
					got = "error"
				case w.help:
					got = "help"
				}
				if got != want {
					t.Errorf("%s, want %s (%v)", got, want, err)
				}
				return
			}
			if err != nil || w.help || w.noScript {
				t.Fatalf("error %v, help %v, no script %v", err, w.help, w.noScript)
			}
			want := g.Want.(map[string]any)
			for _, f := range Flags() {
				if f.Name == "help" {
					continue
				}
				dest := strings.ReplaceAll(f.Name, "-", "_")
				expected, changed := want[dest]
				if !changed {
					expected = defaults[dest]
				}
				value, given := w.values[f.Name]
				if got := asPython(t, f, value, given); !reflect.DeepEqual(got, expected) {
					t.Errorf("%s: %#v, want %#v", f.Name, got, expected)
				}
			}
			args := []any{}
			for _, arg := range w.args {
				args = append(args, arg)
			}
			if w.script != want["training_script"] || !reflect.DeepEqual(args, want["training_script_args"]) {
				t.Errorf("script %q %q, want %q %q", w.script, args, want["training_script"], want["training_script_args"])
			}
			if g.Args[w.scriptIndex] != w.script || w.insertAt > w.scriptIndex {
				t.Errorf("script at %d, flags may be put in at %d", w.scriptIndex, w.insertAt)
			}
		})
	}
	known := map[string]bool{}
	for _, f := range Flags() {
		known[strings.ReplaceAll(f.Name, "-", "_")] = true
	}
	for dest := range defaults {
		if !known[dest] && !strings.HasPrefix(dest, "training_script") {
			t.Errorf("torchrun's --%s is missing", dest)
		}
	}
}

func TestTemplatesAsPythonFillsThem(t *testing.T) {
	var golden []struct{ In, Want string }
	readGolden(t, "templates.json", &golden)
	for _, g := range golden {
		if got := Command(Options{NoPython: true, Args: []string{g.In}}, "", 3)[1]; got != g.Want {
			t.Errorf("%q: %q, want %q", g.In, got, g.Want)
		}
	}
}
