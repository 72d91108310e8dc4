package exitcodes

import "testing"

func TestSignalNamesReadBack(t *testing.T) {
	for n := 1; n <= sigmax; n++ {
		if n == 32 || n == 33 { // the C library's own
			continue
		}
		got, err := ParseSignal(SignalName(n))
		if err != nil || got != n {
			t.Errorf("%d is %s, which reads back as %d, %v", n, SignalName(n), got, err)
		}
	}
}

func TestParseSignal(t *testing.T) {
	for in, want := range map[string]int{
		"15": 15, "TERM": 15, "SIGTERM": 15, "term": 15, "sigusr1": 10, "SIGRTMIN+3": 37, "rtmin": 34, "SIGIOT": 6, "POLL": 29,
	} {
		if got, err := ParseSignal(in); err != nil || got != want {
			t.Errorf("ParseSignal(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0", "65", "-1", "SIG", "SIGNOPE", "15 ", "99999999999999999999"} {
		if got, err := ParseSignal(in); err == nil {
			t.Errorf("ParseSignal(%q) = %d; want an error", in, got)
		}
	}
}
