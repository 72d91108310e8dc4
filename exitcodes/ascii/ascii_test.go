package ascii

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:              `{"a":1}`,
		"\"\x7f\"":             `"\u007f"`,
		`"é"`:                  `"\u00e9"`,
		"\"\u2028\U0001f916\"": `"\u2028\ud83e\udd16"`,
		"\"\xff\"":             `"\ufffd"`,
		``:                     ``,
	} {
		got := string(Escape([]byte(in)))
		if got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(in), &before) != nil {
			continue
		}
		if err := json.Unmarshal([]byte(got), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q: %s is read as %v, %v", in, got, after, err)
		}
	}
}
