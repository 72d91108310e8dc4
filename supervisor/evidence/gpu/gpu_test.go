package gpu

import (
	"strings"
	"testing"
)

func TestSick(t *testing.T) {
	gpu := func(id, action string) string {
		return "\t<gpu id=\"" + id + "\">\n\t\t<ecc_errors/>\n\t\t<gpu_recovery_action>" + action + "</gpu_recovery_action>\n\t</gpu>\n"
	}
	answer := "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n" + gpu("00000000:3B:00.0", "None") + gpu("00000000:5E:00.0", "Drain and Reset") +
		"\t<gpu id=\"old\">\n\t</gpu>\n" + gpu("00000000:86:00.0", "N/A") + gpu("00000000:AF:00.0", "Reboot") + "</nvidia_smi_log>\n"
	if got := strings.Join(Sick(answer), ", "); got != "GPU 00000000:5E:00.0 wants Drain and Reset, GPU 00000000:AF:00.0 wants Reboot" {
		t.Error(got)
	}
	if Sick("") != nil || Sick("Failed to initialize NVML: Driver/library version mismatch") != nil {
		t.Error("sick of nothing")
	}
}

// TestAsks: what a driver asks for, and what says that it does not tell.
func TestAsks(t *testing.T) {
	for action, want := range map[string]bool{
		"Reset": true, "Reboot": true, "Drain P2P": true, "Drain and Reset": true, "GPU requires reset": true, "Something new": true,
		"None": false, " None\n": false, "none": false, "": false, "N/A": false, "[N/A]": false, "Not Supported": false,
		"[Unknown Error]": false, "[Insufficient Permissions]": false, "No Permission": false, "ERR!": false,
		"[Requested functionality has been deprecated]": false,
	} {
		if Asks(action) != want {
			t.Errorf("%q: %t", action, !want)
		}
	}
	answer := "<gpu id=\"a\"><gpu_recovery_action>[N/A]</gpu_recovery_action></gpu><gpu id=\"b\"><gpu_recovery_action>Reset</gpu_recovery_action></gpu>"
	if got := strings.Join(Sick(answer), ", "); got != "GPU b wants Reset" {
		t.Error(got)
	}
}

func FuzzSick(f *testing.F) {
	f.Add("<gpu id=\"a\"><gpu_recovery_action>Reset</gpu_recovery_action>")
	f.Fuzz(func(t *testing.T, answer string) {
		if n := len(Sick(answer)); n > strings.Count(answer, "<gpu id=") {
			t.Error(n)
		}
	})
}
