package format

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"
)

// counted is a tree that counts what is opened.
type counted struct {
	fs.FS
	mu     sync.Mutex
	opened map[string]bool
}

func (c *counted) Open(name string) (fs.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened[name] = true
	return c.FS.Open(name)
}

// TestFindLooksIntoFew wants a directory of many checkpoints to be understood by looking into some of them: each may
// hold thousands of files.
func TestFindLooksIntoFew(t *testing.T) {
	const many = 200
	for _, k := range []struct {
		format, name, file string
		most               int
	}{
		{"dcp", "save-%d", "__0_0.distcp", maxDCPLooks},
		{"deepspeed", "global_step%d", "mp_rank_00_model_states.pt", 8},
		{"", "figures-%d", "figure.png", maxDCPLooks}, // nobody's
	} {
		d := newDisk(t)
		for i := range many {
			writeText(fmt.Sprintf(k.name+"/"+k.file, i+1), "x")(d)
		}
		fsys := &counted{FS: d.fs(), opened: map[string]bool{}}
		found, err := Find(context.Background(), fsys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		// Other formats, which are looked for before, look into some as well, and most into the same.
		if looked := len(fsys.opened) - 1; looked > k.most+maxNVRxOthers+8 {
			t.Errorf("%q: looked into %d directories of %d, at most %d expected", k.format, looked, many, k.most+maxNVRxOthers+8)
		}
		if found.Format != k.format {
			t.Errorf("the format is %q, %q expected", found.Format, k.format)
		}
		if n := len(found.Checkpoints); k.format != "" && (n != many || found.Checkpoints[0].Step != many) {
			t.Errorf("%q: %d checkpoints, %d expected, the newest first", k.format, n, many)
		}
	}
}

func TestNewestOfEach(t *testing.T) {
	names := []string{"logs", "step-1", "step-10", "step-100", "step-9", "x"}
	if got, want := newestOfEach(names, 2), []string{"logs", "step-10", "step-100", "x"}; !slices.Equal(got, want) {
		t.Errorf("%q, %q expected", got, want)
	}
}

// TestDCPOlderOfAFamily: those that are not looked into are like the newest of their family, and each is verified for
// itself when it is checked.
func TestDCPOlderOfAFamily(t *testing.T) {
	d := newDisk(t)
	for i := range maxDCPLooks + 2 {
		writeText(fmt.Sprintf("save-%d/.metadata", i+1), "x")(d)
		writeText(fmt.Sprintf("plots%d/a.png", i+1), "x")(d)
	}
	remove("save-1/.metadata")(d)
	cs := see(t, d.fs(), Options{})
	if len(cs) != maxDCPLooks+2 {
		t.Errorf("%d checkpoints, %d expected:%s", len(cs), maxDCPLooks+2, list(cs))
	}
	if c := one(t, cs, "save-1"); c.Complete {
		t.Errorf("save-1 is complete without a marker:%s", list(cs))
	}
	if c := one(t, cs, "save-2"); !c.Complete {
		t.Errorf("save-2 is not complete: %s %s", c.Reason, c.Detail)
	}
}
