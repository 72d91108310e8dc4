package exitcodes

import "testing"

// TestToldWhatItTries has a message tell the reader what was tried, which is no word of trying again.
func TestToldWhatItTries(t *testing.T) {
	const gated = " OSError: You are trying to access a gated repo."
	o := exited(1).printing(gated, "    Make sure to have access to it.", "    Cannot access gated repo for url https://h/config.json.")
	if f := Judge(o, BuiltinRules()); f.Rule != "hub.gated" || f.Verdict != Fatal {
		t.Errorf("%s by %q: %s", f.Verdict, f.Rule, f.Evidence)
	}
	o = exited(1).printing(" OSError: trying to access a gated repo, then the mirror", "done with the mirror")
	if f := Judge(o, BuiltinRules()); f.Rule == "hub.gated" {
		t.Errorf("what was tried again decides: %q", f.Evidence)
	}
}
