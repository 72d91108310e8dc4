package exitcodes

import (
	"strings"
	"testing"
)

// What jobs of make print that ran beside the one that failed does not tell that its error was survived.
func TestBuildFailed(t *testing.T) {
	const killed = "c++: internal compiler error: Killed (program cc1plus)\nmake[2]: *** [a.o] Error 4\nmake[2]: *** Waiting for unfinished jobs....\n"
	others := strings.Repeat("[ 53%] Built target widgets\n", 9)
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		rule    string
	}{
		"the build ends of it":     {others + killed + others + "make[1]: *** [all] Error 2\nmake: *** [all] Error 2\n", Retry, "build.killed"},
		"a script goes on":         {others + killed + others + "make: *** [all] Error 2\n" + strings.Repeat("step 3 loss 0.1\n", 5) + "ValueError: x\n", Fatal, ""},
		"another job failed later": {others + "make[1]: *** Waiting for unfinished jobs....\na.cc:3:1: error: expected ';'\nmake: *** [all] Error 2\n", Fatal, ""},
	} {
		if f := Judge(exited(2).printing(tt.output), BuiltinRules()); f.Verdict != tt.verdict || f.Rule != tt.rule {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
