package exitcodes

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseMessageReadsWhatEncodeWrites(t *testing.T) {
	for name, m := range map[string]Message{
		"full":    full(),
		"zero":    {},
		"unicode": {Verdict: Fatal, ExitCode: 1, Message: "caf\u00e9 \U0001f525 \x00 \x7f \u2028", LogTail: "a\r\nb"},
	} {
		got, err := ParseMessage(m.Encode(MaxMessage))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want := asRead(m); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}

func TestParseMessage(t *testing.T) {
	const simple = `{"v":1,"verdict":"retry","reason":"Hang","exitCode":212}`
	hang := Message{V: 1, Verdict: Retry, Reason: "Hang", ExitCode: 212}
	for name, text := range map[string]string{
		"alone":                  simple,
		"padded":                 simple + strings.Repeat(" ", 1000) + "\n",
		"zero bytes after it":    simple + "\x00\x00",
		"older, longer content":  simple + " \n" + simple[10:],
		"text in front":          "failed to start shim: exit status 1: " + simple,
		"braces in front":        "set {a, b} {} {{ } { \"x\" } : " + simple,
		"open JSON in front":     `error {"cause": {"why": ` + simple,
		"open string in front":   `error {" : ` + simple,
		"JSON in front":          `{"level":"error","nested":{"v":1,"verdict":"fatal","exitCode":1}}: ` + simple,
		"another v in front":     `{"v":"2.1","level":"error"} ` + simple,
		"a brace just before":    "{" + simple,
		"invalid UTF-8 in front": "\xff{\xfe" + simple,
		"newlines within":        strings.ReplaceAll(simple, ",", ",\n\t"),
		"another order":          `{"exitCode":212,"reason":"Hang","v":1,"verdict":"retry"}`,
		"newer keys":             `{"v":1,"verdict":"retry","reason":"Hang","exitCode":212,"later":{"v":7},"also":[1]}`,
		"null for absent":        `{"v":1,"verdict":"retry","reason":"Hang","exitCode":212,"rank":null,"rootCause":null}`,
	} {
		got, err := ParseMessage([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got, hang) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestParseMessageErrors(t *testing.T) {
	whole := string(full().Encode(MaxMessage))
	for name, tc := range map[string]struct {
		text string
		is   error  // what the error matches, if anything
		says string // what it says
	}{
		"empty":              {"", ErrNoMessage, "no termination message"},
		"text":               {"Error: exit status 1", ErrNoMessage, ""},
		"text with a brace":  {"func main() {", ErrNoMessage, ""},
		"JSON":               {`{"level":"error"}`, ErrNoMessage, ""},
		"an array":           {`["v",1]`, ErrNoMessage, ""},
		"v is null":          {`{"v":null}`, ErrNoMessage, ""},
		"other JSON cut off": {`{"level":"err`, ErrNoMessage, ""},
		"the end of one":     {whole[300:], ErrNoMessage, ""},
		"cut in a string":    {`note: {"v":1,"verdict":"ret`, ErrTruncated, "cut off"},
		"cut in a key":       {`{"v":1,"verd`, ErrTruncated, ""},
		"cut early":          {`{"v`, ErrTruncated, ""},
		"cut in rootCause":   {whole[:strings.Index(whole, `"rule"`)], ErrTruncated, ""},
		"last brace missing": {whole[:len(whole)-1], ErrTruncated, ""},
		"version 2":          {`{"v":2,"verdict":"retry","exitCode":1}`, nil, "version 2, only version 1 can be read"},
		"v is a string":      {`{"v":"1","verdict":"retry","exitCode":1}`, nil, `"v" is "1", want the number 1`},
		"v is an object":     {`{"v":{"v":1,"verdict":"retry","exitCode":1}}`, nil, `want the number 1`},
		"no verdict":         {`{"v":1,"exitCode":1}`, nil, `"verdict" is missing`},
		"no exitCode":        {`{"v":1,"verdict":"retry"}`, nil, `"exitCode" is missing`},
		"exitCode is null":   {`{"v":1,"verdict":"retry","exitCode":null}`, nil, `"exitCode" is missing`},
		"exitCode is text":   {`{"v":1,"verdict":"retry","exitCode":"1"}`, nil, `"exitCode" is a JSON string, which is no int`},
		"exitCode is 1.5":    {`{"v":1,"verdict":"retry","exitCode":1.5}`, nil, `"exitCode" is a JSON number 1.5`},
		"verdict is a bool":  {`{"v":1,"verdict":true,"exitCode":1}`, nil, `"verdict" is a JSON bool`},
		"nested rank":        {`{"v":1,"verdict":"x","exitCode":1,"rootCause":{"rank":"0"}}`, nil, `"rootCause.rank"`},
		"time":               {`{"v":1,"verdict":"x","exitCode":1,"startedAt":"yesterday"}`, nil, "yesterday"},
		"the first is named": {`{"v":2,"verdict":"x","exitCode":1} {"v":1}`, nil, "version 2"},
		"JSON before it":     {`{"level":"error"} {"v":2,"verdict":"x","exitCode":1}`, nil, "version 2"},
		"too long":           {strings.Repeat(" ", 64<<10) + whole, nil, "at most 65536 are read"},
	} {
		got, err := ParseMessage([]byte(tc.text))
		switch {
		case err == nil:
			t.Errorf("%s: no error, got %+v", name, got)
		case !reflect.DeepEqual(got, Message{}):
			t.Errorf("%s: a message beside the error: %+v", name, got)
		case !strings.Contains(err.Error(), tc.says):
			t.Errorf("%s: %q does not say %q", name, err, tc.says)
		}
		for _, sentinel := range []error{ErrNoMessage, ErrTruncated} {
			if errors.Is(err, sentinel) != (tc.is == sentinel) {
				t.Errorf("%s: %q matches %q: %t", name, err, sentinel, errors.Is(err, sentinel))
			}
		}
	}
}

// Every start of a message that stops inside it is cut off, and nothing else.
func TestParseMessageCutAnywhere(t *testing.T) {
	whole := full().Encode(MaxMessage)
	for n := 2; n < len(whole); n++ {
		if _, err := ParseMessage(whole[:n]); !errors.Is(err, ErrTruncated) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
}

// Each brace that stays open makes the reader look at the rest of the text once more. It gives up in time, even when
// there would have been something at the end.
func TestParseMessageGivesUp(t *testing.T) {
	const simple = `{"v":1,"verdict":"retry","exitCode":212}`
	for brace, found := range map[string]bool{
		`{`: true, `{"`: true, `{"":"`: true, `{ x`: true,
		`{"a":`: false, `{"v":`: false, `{"":[`: false, `{"v":1,"a":`: false,
	} {
		text := strings.Repeat(brace, (maxParse-len(simple))/len(brace)) + simple
		if _, err := ParseMessage([]byte(text)); (err == nil) != found {
			t.Errorf("%q: found %t, want %t: %v", brace, err == nil, found, err)
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(`{"v":1,"verdict":"retry","exitCode":1}`))
	f.Add([]byte(`shim: {"a": {"v":1,"verdict":"fatal","exitCode":1,"rank":0`))
	f.Add(full().Encode(MaxMessage))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseMessage(text)
		if err != nil {
			if !reflect.DeepEqual(m, Message{}) {
				t.Fatalf("a message beside the error %v", err)
			}
			return
		}
		again, err := ParseMessage(m.Encode(MaxMessage))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if again.ExitCode != m.ExitCode {
			t.Fatalf("exit code %d became %d", m.ExitCode, again.ExitCode)
		}
	})
}
