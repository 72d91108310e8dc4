package evidence

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestParseXid(t *testing.T) {
	for in, want := range map[string]exitcodes.Xid{
		"4,1204,3151,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": {Number: 79, PCI: "0000:3b:00"},
		"4,1,2,-;NVRM: Xid (0000:86:00.0): 31, pid=1, Ch 00000010":                                                   {Number: 31, PCI: "0000:86:00.0"},
		"4,1,2,-;NVRM: Xid (PCI:0000:3b:00): soon":                                                                   {},
		"6,1,2,-;usb 1-1: new device":                                                                                {},
		"":                                                                                                           {},
	} {
		got, ok := parseXid([]byte(in))
		if got != want || ok != (want.Number != 0) {
			t.Errorf("%q: %+v, %v", in, got, ok)
		}
	}
}

func TestXidsOfOtherGPUsAreLeftOut(t *testing.T) {
	k := &KernelLog{gpus: visibleGPUs(tree(t, map[string]string{"proc/driver/nvidia/gpus/0000:3B:00.0/information": ""}))}
	for pci, want := range map[string]bool{"0000:3b:00": true, "0000:3B:00.0": true, "0000:86:00": false} {
		if got := k.ours(exitcodes.Xid{PCI: pci}); got != want {
			t.Errorf("%s: %v", pci, got)
		}
	}
	if k := (&KernelLog{}); k.ours(exitcodes.Xid{PCI: "0000:86:00"}) {
		t.Error("a container without GPUs has no GPU errors")
	}
}

// The real log: what is said before it is opened, or before Skip, is not read.
func TestKernelLogReadsFromNowOn(t *testing.T) {
	say, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("the right to write the kernel's log (%v) is missing: run the tests as root", err)
	}
	defer say.Close()
	xid := func(n int) { fmt.Fprintf(say, "NVRM: Xid (PCI:0000:3b:00): %d, gangrun's test\n", n) }
	xid(1)
	k := OpenKernelLog()
	if k == nil {
		t.Fatal("the log can be written but not read")
	}
	defer k.Close()
	k.gpus = []string{"0000:3b:00.0"}
	xid(79)
	xid(31)
	if got := fmt.Sprint(k.Xids()); got != "[Xid 79 on GPU 0000:3b:00 Xid 31 on GPU 0000:3b:00]" {
		t.Errorf("read %s", got)
	}
	if got := k.Xids(); len(got) != 2 || time.Since(got[0].At).Abs() > time.Minute {
		t.Errorf("asked again, it says %v", got)
	}
	fmt.Fprintln(say, "Memory cgroup out of memory: Killed process 4711 (python3) gangrun's test")
	if got := k.Kills(); len(got) != 1 || got[0].PID != 4711 || got[0].Comm != "python3" || time.Since(got[0].At).Abs() > time.Minute {
		t.Errorf("kills %+v", got)
	}
	xid(48)
	k.Skip()
	if got := k.Xids(); len(got) != 0 {
		t.Errorf("read %v after Skip", got)
	}
}

func TestNoKernelLogIsNoEvidence(t *testing.T) {
	var k *KernelLog
	k.Skip()
	if k.Xids() != nil {
		t.Error("errors out of nowhere")
	}
	k.Close()
}

func TestParseKill(t *testing.T) {
	for in, want := range map[string]exitcodes.Kill{
		"3,1,2,-;Memory cgroup out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:1kB": {PID: 4711, Comm: "python3"},
		"3,1,2,-;Out of memory: Killed process 12 (pt_data_worker) total-vm:1kB":                        {PID: 12, Comm: "pt_data_worker"},
		"3,1,2,-;Out of memory: Kill process 12 (a b) score 900 or sacrifice child":                     {PID: 12, Comm: "a b"},
		"6,1,2,-;oom_reaper: reaped process 4711 (python3), now anon-rss:0kB":                           {},
		"3,1,2,-;out of memory":            {},
		"3,1,2,-;nothing of the kind here": {},
	} {
		got, ok := parseKill([]byte(in))
		if got != want || ok != (want.PID != 0) {
			t.Errorf("%q: %+v, %v", in, got, ok)
		}
	}
}

func TestRecordTime(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := recordTime([]byte("6,12,90000000,-;text"), now, 100*time.Second); !got.Equal(now.Add(-10 * time.Second)) {
		t.Errorf("ten seconds ago became %v", got)
	}
	for _, in := range []string{"", "6,12", "6,12,x,-;text", "6,12,-5,-;text"} {
		if got := recordTime([]byte(in), now, time.Second); !got.IsZero() {
			t.Errorf("%q has the time %v", in, got)
		}
	}
}

func FuzzKernelRecord(f *testing.F) {
	f.Add([]byte("6,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1"))
	f.Add([]byte("3,1,2,-;Out of memory: Killed process 12 (a) x"))
	f.Fuzz(func(_ *testing.T, record []byte) {
		k := &KernelLog{fd: -1, gpus: []string{"0000:3b:00.0"}}
		k.take(record, time.Second)
	})
}
