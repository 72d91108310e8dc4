package main

import (
	"bytes"
	"testing"
	"time"
)

func TestVersions(t *testing.T) {
	for in, want := range map[string]string{
		"v1.2.3":                   "1.2.3",
		"1.2.3":                    "1.2.3",
		"v1.2.3-rc.1":              "1.2.3rc1",
		"v1.2.3-beta.2":            "1.2.3b2",
		"v1.2.3-14-g1a2b3c4":       "1.2.3.post14+g1a2b3c4",
		"v1.2.3-14-g1a2b3c4-dirty": "1.2.3.post14+g1a2b3c4.dirty",
		"1a2b3c4":                  "0.0.0+g1a2b3c4",
		"1a2b3c4-dirty":            "0.0.0+g1a2b3c4.dirty",
		"v1.2":                     "",
		"latest":                   "",
		"":                         "",
	} {
		v, err := ParseVersion(in)
		if want == "" && err == nil || want != "" && (err != nil || v.Package != want || v.Given != in) {
			t.Errorf("%s: %+v, %v, want %q", in, v, err, want)
		}
	}
}

func FuzzVersion(f *testing.F) {
	f.Add("v1.2.3-rc.1-4-gabc1234-dirty")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ParseVersion(text); err == nil && (v.Package == "" || v.Given != text) {
			t.Errorf("%q: %+v", text, v)
		}
	})
}

func TestTheSameWheelTwice(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	make := func() (string, []byte) {
		name, data, err := Wheel("1.2.3", "a.b", []byte("program"), map[string][]byte{"LICENSE": []byte("x")}, at)
		if err != nil {
			t.Fatal(err)
		}
		return name, data
	}
	name, one := make()
	_, two := make()
	if name != "gangrun-1.2.3-py3-none-a.b.whl" || !bytes.Equal(one, two) {
		t.Error(name, "differs from itself")
	}
}
