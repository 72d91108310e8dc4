package evidence

import (
	"fmt"
	"os"
	"testing"

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
