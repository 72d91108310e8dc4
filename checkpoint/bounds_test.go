package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/format"
)

// torchState is a whole file of torch with the state of an optimizer, and a step if that is not negative.
func torchState(step int64) []byte {
	p := filetest.NewPickle(2).Op("}(").Text("optimizer").Op("}(").Text("state").Op("}").Text("param_groups").Op("]u")
	if step >= 0 {
		p.Text("step").Int(step)
	}
	return filetest.Zip(filetest.Record{Name: "archive/data.pkl", Data: p.Op("u").Stop()},
		filetest.Record{Name: "archive/version", Data: []byte("3\n")})
}

func (tr *tree) plain() *Scanner { return &Scanner{FS: os.DirFS(tr.dir)} }

// sameTimes gives all files of the tree one time, as a copy or a store may.
func (tr *tree) sameTimes() {
	tr.t.Helper()
	err := filepath.WalkDir(tr.dir, func(p string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(p, tr.now, tr.now))
	})
	if err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) offer(s *Scanner) Offer {
	tr.t.Helper()
	scan, err := s.Scan(tr.t.Context())
	if err != nil {
		tr.t.Fatal(err)
	}
	o, err := Policy{}.Offer(scan, History{}, Run{}, time.Now())
	if err != nil {
		tr.t.Fatal(err)
	}
	return o
}

// TestBounds never lets a bound hide the newest: however many there are, in whatever order their names sort, and whether
// or not their times say anything.
func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		make  func(tr *tree)
		first int64 // the step that is offered first
		apart bool  // nothing says which one is meant where the times are the same
	}{
		{"numbered directories that are taken by their names", func(tr *tree) {
			for n := range int64(100) {
				tr.put(fmt.Sprintf("save-%d/__0_0.distcp", n+1), []byte("shard"))
				tr.put(fmt.Sprintf("save-%d/.metadata", n+1), filetest.DCPMetadata([]string{"__0_0.distcp"}, []int64{5}))
			}
		}, 100, false},
		{"the newest of which are torn", func(tr *tree) {
			for n := range int64(100) {
				data := torchState(n + 1)
				if n >= 20 {
					data = data[:len(data)-1]
				}
				tr.put(fmt.Sprintf("ckpt_%d.pt", n+1), data)
			}
		}, 20, false},
		{"another training's with higher steps", func(tr *tree) {
			for n := range int64(40) {
				tr.put(fmt.Sprintf("alpaca_step%d.pt", 1000+n), torchState(1000+n))
			}
			for n := range int64(3) {
				tr.put(fmt.Sprintf("zebra_step%d.pt", n+1), torchState(n+1))
			}
		}, 3, true},
		{"steps in the files alone, the newest under the first name", func(tr *tree) {
			for n := range int64(200) {
				tr.put(fmt.Sprintf("%c%c-checkpoint.pt", 'z'-n/20, 'z'-n%20), torchState(n+1))
			}
		}, 200, true},
		{"among files of data", func(tr *tree) {
			for n := range int64(1000) {
				tr.put(fmt.Sprintf("%c%c%c.pkl", 'a'+n/100, 'a'+n/10%10, 'a'+n%10), []byte("data, and no pickle"))
			}
			tr.put("zz-checkpoint.pkl", torchState(7))
		}, 7, false},
		{"below, in directories with dates", func(tr *tree) {
			for n := range int64(28) {
				tr.put(fmt.Sprintf("2026-01-%02d/ckpt_1.pt", n+1), torchState(n+1))
			}
		}, 28, true},
	} {
		for _, same := range []bool{false, true} {
			tr := newTree(t)
			tt.make(tr)
			if same {
				tr.sameTimes()
			}
			switch o := tr.offer(tr.plain()); {
			case same && tt.apart && len(o.Steps) == 0 && o.Veto != nil:
			case len(o.Steps) == 0 || o.Steps[0] != tt.first:
				t.Errorf("%s, same times %v: %v offered (%v, %v), %d expected first", tt.name, same, o.Steps, o.Veto,
					o.Warnings, tt.first)
			}
		}
	}
}

// TestBoundsSaid says what was not read.
func TestBoundsSaid(t *testing.T) {
	tr := newTree(t)
	for n := range int64(maxLooks + 10) {
		tr.put(fmt.Sprintf("%c%c-checkpoint.pt", 'z'-n/20, 'z'-n%20), torchState(-1))
	}
	o := tr.offer(tr.plain())
	if !slices.Contains(o.Warnings, "10 that say no step were not verified, by their times the oldest") {
		t.Errorf("%q", o.Warnings)
	}
	if len(o.Identities) == 0 {
		t.Errorf("%+v", o)
	}
	tr.sameTimes()
	if scan := mustScan(t, tr.plain()); scan.Older != 0 || len(scan.Checkpoints) != maxLooks+10 {
		t.Errorf("%d looked at, %d not", len(scan.Checkpoints), scan.Older)
	}
}

// TestBoundsBelow does not choose where it has not searched all that may be meant.
func TestBoundsBelow(t *testing.T) {
	tr := newTree(t)
	for n := range int64(100) {
		name := fmt.Sprintf("%c%c", 'a'+n/10, 'a'+n%10)
		tr.put(name+"/notes.txt", []byte("nothing"))
		if n == 3 || n == 99 {
			tr.put(name+"/ckpt_1.pt", torchState(n))
		}
	}
	o := tr.offer(tr.plain())
	if len(o.Steps) > 0 || o.Veto == nil || !strings.Contains(o.Veto.Error(), "(ad and perhaps in 36 more)") {
		t.Errorf("%v offered, %v", o.Steps, o.Veto)
	}

	tr = newTree(t)
	for n := range int64(20) {
		tr.put(fmt.Sprintf("version_%d/ckpt_1.pt", n), torchState(n))
	}
	o = tr.offer(tr.plain())
	want := "12 directories further down were not searched, the oldest by their names"
	if len(o.Steps) == 0 || o.Steps[0] != 19 || !slices.Contains(o.Warnings, want) {
		t.Errorf("%v offered, %q", o.Steps, o.Warnings)
	}
}

// TestBoundsOffer tells of no more than other nodes read.
func TestBoundsOffer(t *testing.T) {
	var numbered, not []format.Checkpoint
	for n := range 5000 {
		c := format.Checkpoint{Path: fmt.Sprint(n), Step: int64(n), Complete: true, Resumable: true, Modified: saved}
		numbered = append(numbered, c)
		c.Step, c.Identity = -1, fmt.Sprint(n)
		not = append(not, c)
	}
	for _, has := range [][]format.Checkpoint{numbered, not} {
		o, err := Policy{}.Offer(Scan{Checkpoints: has}, History{}, Run{}, saved)
		if err != nil || len(o.Steps)+len(o.Identities) != maxLooks {
			t.Errorf("%d steps, %d identities, %v", len(o.Steps), len(o.Identities), err)
		}
	}
}

// TestBoundsMemory writes nothing that is not read again: a memory that cannot be read ends the next run.
func TestBoundsMemory(t *testing.T) {
	dir := t.TempDir()
	var s Scan
	for n := range 5000 {
		s.Checkpoints = append(s.Checkpoints, format.Checkpoint{Path: strings.Repeat("<", 1000) + fmt.Sprint(n), Step: int64(n), Complete: true,
			Modified: saved})
	}
	m := History{}.Begin(Run{"job", "run1"}, From{}, s)
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadHistory(os.DirFS(dir))
	if err != nil || !sameHistory(got, m) || len(m.Before) < 50 || m.Before[0].Path != s.Checkpoints[0].Path {
		t.Errorf("%d and %d, %v", len(m.Aside), len(m.Before), err)
	}
}
