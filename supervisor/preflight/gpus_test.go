package preflight

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// healthy is what nvidia-smi -q -x prints of two GPUs with which nothing is wrong.
func healthy(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/smi.xml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// without cuts the second GPU out.
func without(text string) string {
	at := strings.LastIndex(text, "<gpu id")
	return text[:at] + "</nvidia_smi_log>\n"
}

func exits(code int, text string) Output {
	return Output{Text: []byte(text), Status: exitcodes.Status{Code: code}}
}

func TestJudgeGPUs(t *testing.T) {
	good := healthy(t)
	recovery := func(action string) Output {
		return exits(0, strings.Replace(good, "<gpu_recovery_action>None<", "<gpu_recovery_action>"+action+"<", 1))
	}
	used := func(amount string) Output {
		return exits(0, strings.Replace(good, "<used>4 MiB<", "<used>"+amount+"<", 1))
	}
	shared := func(o Output, pids ...string) Output { // the first GPU, by these
		users := "<processes>"
		for _, pid := range pids {
			users += "<process_info><pid>" + pid + "</pid><type>C</type><used_memory>1 MiB</used_memory></process_info>"
		}
		o.Text = []byte(strings.Replace(string(o.Text), "<processes>", users, 1))
		return o
	}
	divided := func(o Output) Output {
		o.Text = []byte(strings.ReplaceAll(string(o.Text), "Disabled", "Enabled"))
		return o
	}
	first, err := ParseGPUs([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	later := Earlier{GPUs: &first, Devices: 2}
	visible := func(before Earlier, visible string) Earlier {
		before.Visible = &visible
		return before
	}
	const lostFirst = "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n"
	old := strings.ReplaceAll(good, "<gpu_recovery_action>None</gpu_recovery_action>", "")
	for name, tt := range map[string]struct {
		o      Output
		before Earlier
		want   State
		says   string
	}{
		"healthy":                         {exits(0, good), Earlier{}, OK, "2 are seen"},
		"healthy as before":               {exits(0, good), later, OK, "2 are seen"},
		"a warning before it":             {exits(0, "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n"+good), Earlier{}, OK, "2 are seen"},
		"reset":                           {recovery("Reset"), Earlier{}, Sick, `GPU 00000000:3B:00.0 is not fit for use: the driver asks for "Reset"`},
		"reboot":                          {recovery("Reboot"), Earlier{}, Sick, `"Reboot"`},
		"drain":                           {recovery("Drain P2P"), Earlier{}, Sick, `"Drain P2P"`},
		"drain and reset":                 {recovery("Drain and Reset"), later, Sick, `"Drain and Reset"`},
		"recovery not known":              {recovery("N/A"), Earlier{}, OK, "does not tell"},
		"recovery unknown":                {recovery("Unknown Error"), Earlier{}, OK, "does not tell"},
		"recovery not supported":          {recovery("Not Supported"), Earlier{}, OK, "does not tell"},
		"recovery not permitted":          {recovery("[Insufficient Permissions]"), Earlier{}, OK, "does not tell"},
		"an old driver":                   {exits(0, old), Earlier{}, OK, "does not tell"},
		"one is gone":                     {exits(0, without(good)), later, Sick, "GPU 00000000:86:00.0 is gone: there were 2 at the start, and now there are 1"},
		"one is not listed":               {exits(0, without(good)), Earlier{}, Note, "1 of 2"},
		"a device file more":              {exits(0, good), Earlier{Devices: 3}, Note, "2 of 3"},
		"memory not given back":           {used("40000 MiB"), later, Sick, "39996 MiB more"},
		"memory of another job":           {shared(used("40000 MiB"), "4711"), later, Note, "39996 MiB more of the memory of GPU 00000000:3B:00.0 are in use than at the start, where there is process 4711"},
		"memory of other jobs":            {shared(used("40000 MiB"), "4711", ""), later, Note, "process 4711, unknown"},
		"memory, with a job elsewhere":    {exits(0, strings.Replace(string(shared(exits(0, good), "4711").Text), "<used>4 MiB</used>\n\t\t\t<free>81038 MiB</free>\n\t\t</fb_memory_usage>\n\t\t<processes>\n\t\t</processes>\n\t</gpu>\n</", "<used>9000 MiB</used></fb_memory_usage></gpu></", 1)), later, Sick, "GPU 00000000:86:00.0 did not get"},
		"a job that was there before":     {shared(exits(0, good), "4711"), later, OK, "2 are seen"},
		"memory not given back, visible":  {used("40000 MiB"), visible(later, "1, 0"), Sick, "39996 MiB more"},
		"memory of one not visible":       {used("40000 MiB"), visible(later, "1"), Note, "CUDA_VISIBLE_DEVICES leaves out: GPU 00000000:3B:00.0 did not get"},
		"reset of one not visible":        {recovery("Reset"), visible(Earlier{}, "1"), Note, "leaves out: GPU 00000000:3B:00.0"},
		"reset of one visible":            {recovery("Reset"), visible(Earlier{}, "0"), Sick, "00000000:3B:00.0"},
		"visible by its UUID":             {recovery("Reset"), visible(Earlier{}, "GPU-8932f937"), Sick, "00000000:3B:00.0"},
		"not visible by its UUID":         {recovery("Reset"), visible(Earlier{}, "GPU-0b2d60bf-77f9-4b0e-a8d4-6d3b1c2f9e11"), Note, "leaves out"},
		"not visible after a bad entry":   {recovery("Reset"), visible(Earlier{}, "1,-1,0"), Note, "leaves out"},
		"none visible":                    {recovery("Reset"), visible(later, ""), Note, "leaves out"},
		"parts are visible":               {recovery("Reset"), visible(later, "MIG-8932f937/1/0"), Sick, "Reset"},
		"gone, and not visible":           {exits(0, without(good)), visible(later, "0"), Note, "leaves out: GPU 00000000:86:00.0 is gone"},
		"gone, and visible":               {exits(0, without(good)), visible(later, "1"), Sick, "GPU 00000000:86:00.0 is gone"},
		"lost, and not visible":           {exits(15, lostFirst), visible(later, "1"), Note, "leaves out is lost"},
		"lost, and visible":               {exits(15, lostFirst), visible(later, "0"), Sick, "a GPU is lost"},
		"lost, which is not known":        {exits(15, lostFirst), visible(Earlier{}, "1"), Sick, "a GPU is lost"},
		"both lost":                       {exits(15, lostFirst+strings.Replace(lostFirst, "3B", "86", 1)), visible(later, "1"), Sick, "a GPU is lost"},
		"lost without a name":             {exits(15, "Error\n"), visible(later, "1"), Sick, "a GPU is lost"},
		"a little of it":                  {used("900 MiB"), later, OK, "2 are seen"},
		"memory in use at the start":      {used("40000 MiB"), Earlier{}, Note, "40000 MiB of the memory of GPU 00000000:3B:00.0"},
		"memory not known":                {used("N/A"), later, OK, "2 are seen"},
		"memory of a divided GPU":         {divided(used("40000 MiB")), later, OK, "2 are seen"},
		"stuck":                           {Output{Late: 30 * time.Second}, Earlier{}, Sick, "no answer from the driver after 30s"},
		"off the bus":                     {exits(15, "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n"), Earlier{}, Sick, "a GPU is lost: Unable to"},
		"lost, whatever it exits with":    {exits(0, "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system\n"), Earlier{}, Sick, "a GPU is lost"},
		"no power":                        {exits(8, "Unable to determine the device handle: Insufficient External Power\n"), Earlier{}, Sick, "no power"},
		"interrupts":                      {exits(10, "Interrupt Request (IRQ) issue\n"), Earlier{}, Sick, "interrupts"},
		"a new driver beside the old one": {exits(18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n"), Earlier{}, Sick, "replaced"},
		"no driver, no GPU":               {exits(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"), Earlier{}, OK, "none are seen"},
		"no driver for the GPUs":          {exits(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"), Earlier{Devices: 8}, Sick, "couldn't communicate"},
		"access lost":                     {exits(255, "Failed to initialize NVML: Unknown Error\n"), Earlier{Devices: 8}, Sick, "does not give them"},
		"no devices":                      {exits(6, "No devices were found\n"), later, Sick, "No devices were found"},
		"no devices, none expected":       {exits(6, "No devices were found\n"), Earlier{}, OK, "none are seen"},
		"not installed":                   {Output{Absent: true}, Earlier{}, OK, "no nvidia-smi"},
		"not installed, but GPUs":         {Output{Absent: true}, Earlier{Devices: 1}, Note, "not checked"},
		"not startable":                   {Output{Err: errors.New("cannot start nvidia-smi: exec format error")}, later, Note, "exec format error"},
		"garbage":                         {exits(0, "\x1b[31m<html>\n"), later, Note, "cannot be read"},
		"cut":                             {exits(0, good[:len(good)/2]), later, Note, "cannot be read"},
		"nothing":                         {exits(0, ""), later, Note, "cannot be read"},
		"not allowed":                     {exits(4, "Insufficient Permissions\n"), later, Note, "exits with 4, so nothing is known of them: Insufficient Permissions"},
		"a warning by its code":           {exits(14, good+"WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n"), later, OK, "2 are seen"},
		"crashed":                         {Output{Status: exitcodes.Status{Signal: 11}}, later, Note, "killed by SIGSEGV"},
	} {
		t.Run(name, func(t *testing.T) {
			got := JudgeGPUs(tt.o, tt.before)
			if got.State != tt.want || !strings.Contains(got.Detail, tt.says) || got.Probe != ProbeGPUs {
				t.Errorf("%+v, want %s, %q", got, tt.want, tt.says)
			}
			if got.State == Sick && got.Do == "" {
				t.Error("it does not say what to do")
			}
			if want := strings.HasPrefix(name, "memory not given") || strings.HasPrefix(name, "memory, with"); MemoryKept(tt.o, tt.before) != want {
				t.Errorf("MemoryKept is %t", !want)
			}
		})
	}
}

// TestMemoryKeptBesideMore has memory be no excuse for what else is wrong.
func TestMemoryKeptBesideMore(t *testing.T) {
	good := healthy(t)
	first, _ := ParseGPUs([]byte(good))
	bad := strings.Replace(strings.Replace(good, "<used>4 MiB", "<used>4000 MiB", 1), ">None<", ">Reboot<", 1)
	if MemoryKept(exits(0, bad), Earlier{GPUs: &first}) {
		t.Error("a GPU that needs a reboot was taken for one that is only slow to give memory back")
	}
}

func FuzzParseGPUs(f *testing.F) {
	good := healthy(f)
	f.Add([]byte(good))
	f.Add([]byte(good[:len(good)/2]))
	f.Add([]byte("No devices were found\n"))
	f.Add([]byte(`<?xml version="1.0" encoding="latin-1"?><nvidia_smi_log><attached_gpus>-1</attached_gpus><gpu id="&#x1b;x"/></nvidia_smi_log>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := ParseGPUs(text)
		if err != nil && len(found.List) > 0 {
			t.Errorf("%d GPUs, and %v", len(found.List), err)
		}
		if len(found.List) > mostGPUs || found.Attached < -1 {
			t.Errorf("%d GPUs of %d", len(found.List), found.Attached)
		}
		second := "1"
		for _, before := range []Earlier{{}, {Devices: 2}, {GPUs: &found}, {GPUs: &found, Visible: &second}} {
			line := JudgeGPUs(Output{Text: text}, before).String()
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(line) > 4096 {
				t.Errorf("not one plain line: %q", line)
			}
		}
		if err == nil && JudgeGPUs(Output{Text: text}, Earlier{GPUs: &found}).State == Sick &&
			!slices.ContainsFunc(found.List, GPU.needsRecovery) && !lost(Output{Text: text}) &&
			!strings.Contains(string(text), "mismatch") && !unanswered(Output{Text: text}) {
			// Two GPUs of one address may differ in what they use.
			for i, g := range found.List {
				if slices.ContainsFunc(found.List[:i], func(h GPU) bool { return h.Address == g.Address }) {
					return
				}
			}
			t.Errorf("sick although nothing has changed: %s", text)
		}
	})
}
