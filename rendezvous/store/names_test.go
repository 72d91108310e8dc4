package store

import (
	"strings"
	"testing"
)

func TestPrefix(t *testing.T) {
	for _, tt := range []struct{ namespace, job, want string }{
		{"default", "bert", "/gangrun/v1/default/bert/"},
		{"team a", "x/y", "/gangrun/v1/team%20a/x%2Fy/"},
		{"ns", "..", "/gangrun/v1/ns/../"},
		{"ns", "100%", "/gangrun/v1/ns/100%25/"},
		{"ns", "é\n", "/gangrun/v1/ns/%C3%A9%0A/"},
		{"", "x", ""},
		{"ns", "", ""},
		{"ns", strings.Repeat("x", 254), ""},
	} {
		got, err := Prefix(tt.namespace, tt.job)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q, %q: %q, %v, want %q", tt.namespace, tt.job, got, err, tt.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	}
}

func TestUnescapeRefuses(t *testing.T) {
	for _, part := range []string{"a/b", "%", "%4", "%zz", "%2f", "%41", "é", " "} {
		if got, err := Unescape(part); err == nil {
			t.Errorf("%q: %q", part, got)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "a/b", "%2F", "\x00\xff", "..", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		part := Escape(name)
		if strings.ContainsAny(part, "/ \n\x00") {
			t.Fatalf("%q: %q", name, part)
		}
		if back, err := Unescape(part); err != nil || back != name {
			t.Fatalf("%q: %q: %q, %v", name, part, back, err)
		}
		// What is not the result of Escape is refused, or two names would be read from different parts.
		if back, err := Unescape(name); err == nil && Escape(back) != name {
			t.Fatalf("%q was read as %q", name, back)
		}
	})
}
