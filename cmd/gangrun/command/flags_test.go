package command

import "testing"

// TestFlagsAreNamedOnce has each command read its flags: the library that reads them panics where two have one name.
func TestFlagsAreNamedOnce(t *testing.T) {
	for _, command := range []string{"run", "launch", "local"} {
		if code := Run([]string{"gangrun", command, "--no-such-flag"}); code != 64 {
			t.Errorf("%s: exits with %d", command, code)
		}
	}
}
