package event

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func sample() Event {
	round, step := 2, int64(40)
	return Event{
		V: Version, ID: "a-1", Seq: 1, At: noon, Type: Progress, Source: "a", Job: "j", Node: "n", Round: &round, Step: &step,
	}
}

// TestSchemaPage keeps the page that others validate against equal to what is written.
func TestSchemaPage(t *testing.T) {
	const page = "../../docs/events.schema.json"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(page, schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, schema()) {
		t.Errorf("%s is not what the types say; UPDATE_GOLDEN=1 go test ./observe/event rewrites it", page)
	}
}

// TestPageNamesAllTypes: docs/events.md has a row for each type of event.
func TestPageNamesAllTypes(t *testing.T) {
	page, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range types {
		if !strings.Contains(string(page), "| `"+string(name)+"` |") {
			t.Errorf("docs/events.md has no row for %s", name)
		}
	}
}

// TestHostile is what is in an event at its worst: it stays one line of plain ASCII, and comes back as it was.
func TestHostile(t *testing.T) {
	e := sample()
	e.Node = "<script>alert(1)</script>\x1b[2J\r\n\x00\u202e\U0001f600"
	e.Type, e.Failed = WorkerFailed, &Failed{Message: "a\x07b\u2028c\x7f", Evidence: string([]byte{0xff, 'x'})}
	line := e.Encode()
	for i, b := range line[:len(line)-1] {
		if b < ' ' || b >= 0x7f || b == '<' || b == '>' || b == '&' {
			t.Fatalf("byte %#x at %d of %s", b, i, line)
		}
	}
	back, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	if e.Failed.Evidence = "\ufffdx"; !reflect.DeepEqual(e, back) {
		t.Errorf("%+v came back as %+v", e, back)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"a\xffb":                       "a\ufffdb",
		strings.Repeat("x", 2*MaxText): strings.Repeat("x", MaxText),
		strings.Repeat("€", MaxText):   strings.Repeat("€", MaxText/3),
	} {
		if got := Text(in); got != want {
			t.Errorf("%.20q: %d bytes, want %d", in, len(got), len(want))
		}
	}
}

// TestRead continues after invalid lines: one cut off, one of a later version, one far too long.
func TestRead(t *testing.T) {
	e := sample()
	good := string(e.Encode())
	later := strings.Replace(good, `"v":1`, `"v":2`, 1)
	more := strings.Replace(good, `"v":1`, `"v":1,"new":{"x":[1]}`, 1)
	in := good + later + more + strings.Repeat("x", 3*MaxLine) + "\n\n" + good + good[:20]
	read := 0
	problems, err := Read(strings.NewReader(in), func(Event) { read++ })
	if err != nil || read != 3 {
		t.Errorf("%d events, error %v", read, err)
	}
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if !slices.Equal(lines, []int{2, 4, 7}) || !errors.Is(problems[0].Err, ErrVersion) ||
		!errors.Is(problems[1].Err, ErrForm) {
		t.Errorf("problems %v", problems)
	}
}

func FuzzParse(f *testing.F) {
	e := sample()
	f.Add(e.Encode())
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Parse(line)
		if err != nil {
			return
		}
		again, err := Parse(e.Encode())
		if err != nil || again.ID != e.ID || again.Type != e.Type {
			t.Errorf("%q: %v, %+v", line, err, again)
		}
		if !utf8.Valid(e.Encode()) {
			t.Errorf("%q: not valid", line)
		}
	})
}

// TestLastLines keeps the last whole lines that fit, and none without anything on it.
func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", MaxText)
	for _, tt := range []struct {
		printed, want string
		most          int
	}{
		{"", "", 3},
		{"\n\n", "", 3},
		{"one", "one", 3},
		{"one\r\ntwo  \n\n\tthree\n\n", "one\ntwo\n\tthree", 3},
		{"one\ntwo\nthree\nfour\n", "three\nfour", 2},
		{"cause\n" + long + "\nend\n", "cause\n" + long[:MaxText/4] + "\nend", 3},
		{strings.Repeat(long[:MaxText/4]+"\n", 4) + "end", strings.Repeat(long[:MaxText/4]+"\n", 3)[:3*(MaxText/4+1)] + "end", 9},
		{"cause\n  0%|    | 0/9\r 50%|##  | 5/9\r100%|####| 9/9\r\n", "cause\n100%|####| 9/9", 3},
		{"caf\xe9\n", "caf\ufffd", 1},
	} {
		if got := LastLines([]byte(tt.printed), tt.most); got != tt.want || len(got) > MaxText {
			t.Errorf("%q: %q", tt.printed, got)
		}
	}
}
