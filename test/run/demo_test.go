package run_test

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestDemo runs the demonstration, which checks all that it tells.
func TestDemo(t *testing.T) {
	t.Parallel()
	python := harness.Program(t, "python3", "install python3")
	res := harness.Run(t, limit, nil, python, filepath.Join(harness.Root(), "examples", "demo", "demo"), harness.Binary(t))
	if res.Code != 0 || !strings.Contains(res.Stdout, "the same final loss") {
		t.Errorf("exit code %d:\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
}

// shown is the text of a picture, which has to be well formed, and can neither run anything nor fetch anything.
func shown(t *testing.T, svg string) string {
	t.Helper()
	for _, bad := range []string{"<script", "href", "foreignObject", " on", "url(", "@import", "<image"} {
		if strings.Contains(regexp.MustCompile(`>[^<]*<`).ReplaceAllString(svg, "><"), bad) {
			t.Errorf("%q is in the picture", bad)
		}
	}
	var text strings.Builder
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		switch token, err := d.Token(); {
		case err == io.EOF:
			return text.String()
		case err != nil:
			t.Fatal(err)
		default:
			if words, is := token.(xml.CharData); is {
				text.Write(words)
			}
		}
	}
}

// TestRecord records a command that prints colours, long lines and hostile ones.
func TestRecord(t *testing.T) {
	t.Parallel()
	python := harness.Program(t, "python3", "install python3")
	harness.OpenTerminal(t, limit) // the recorder opens one, too
	record := filepath.Join(harness.Root(), "examples", "demo", "record")
	script := `printf '\033[1;36mfirst\033[0m then\n'; sleep 0.5; printf '<script>\007&\033[31mred\033[m\n'; printf '%0200d' 7; echo; echo ` + harness.Root() + `/x`
	res := harness.Run(t, limit, nil, python, record, "a <title>", "/bin/sh", "-c", script)
	if res.Code != 0 {
		t.Fatalf("%d: %s", res.Code, res.Stderr)
	}
	text := shown(t, res.Stdout)
	for _, want := range []string{"a <title>", "first then", "<script>&red", strings.Repeat("0", 118), "translateY(496px)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, res.Stdout)
		}
	}
	if !strings.Contains(res.Stdout, `<tspan class="b c">first</tspan>`) || strings.Contains(text, harness.Root()) ||
		strings.Contains(text, "\a") {
		t.Error(res.Stdout)
	}
	if res := harness.Run(t, limit, nil, python, record, "t", "/bin/sh", "-c", "echo x; exit 3"); res.Code == 0 || res.Stdout != "" {
		t.Errorf("a command that fails: %d %s", res.Code, res.Stdout)
	}
}

// TestRecording: what the README shows is the demo as it is now, by its headings.
func TestRecording(t *testing.T) {
	read := func(path ...string) string {
		data, err := os.ReadFile(filepath.Join(append([]string{harness.Root()}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	text := shown(t, read("docs", "demo.svg"))
	headings := regexp.MustCompile(`heading\("([^"]+)"`).FindAllStringSubmatch(read("examples", "demo", "demo"), -1)
	if len(headings) < 6 {
		t.Fatal(headings)
	}
	for _, h := range headings {
		if !strings.Contains(text, h[1]) {
			t.Errorf("%q is not in docs/demo.svg; make recording", h[1])
		}
	}
	if strings.Contains(text, "/home/") || strings.Contains(text, "/root/") {
		t.Error("a path of the machine on which it was recorded is in docs/demo.svg")
	}
}
