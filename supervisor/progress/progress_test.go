package progress

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestExamples reads each profile's own example, and no profile's example is taken for a step of one that comes before
// it.
func TestExamples(t *testing.T) {
	for i := range profiles {
		p := &profiles[i]
		for k, pattern := range p.Steps {
			if number, _, found := p.Steps[k].find([]byte(pattern.Example)); !found || len(number) == 0 {
				t.Errorf("%s: %q is not found in %q", p.Name, pattern.RE, pattern.Example)
			}
			for j := range profiles {
				if _, _, found := profiles[j].step([]byte(pattern.Example)); found && j != i {
					t.Errorf("%s takes %q for its own, which is of %s", profiles[j].Name, pattern.Example, p.Name)
				}
			}
		}
		for k, pattern := range p.Phases {
			if _, _, found := p.Phases[k].find([]byte(pattern.Example)); !found || pattern.Phase == "" {
				t.Errorf("%s: %q is not found in %q", p.Name, pattern.RE, pattern.Example)
			}
		}
	}
}

// TestFound is the profile that fits by itself, after two different steps of training.
func TestFound(t *testing.T) {
	for i := range profiles {
		p := &profiles[i]
		for _, pattern := range p.Steps {
			if pattern.Phase != "" {
				continue
			}
			r := NewReader(nil)
			write := r.Stream()
			fmt.Fprintf(writer(write), "loading\n%s\n%[1]s\n", pattern.Example)
			if sign := r.Sign(); sign.Profile != "" || sign.Steps != 0 {
				t.Errorf("%s: one step is enough: %+v", p.Name, sign)
			}
			at := regexp.MustCompile(pattern.RE).FindStringSubmatchIndex(pattern.Example)[3]
			next := pattern.Example[:at] + "9" + pattern.Example[at:]
			fmt.Fprintf(writer(write), "%s\r", next)
			if sign := r.Sign(); sign.Profile != p.Name || sign.Steps != 2 || sign.Step%10 != 9 || !sign.Stepped {
				t.Errorf("%s: %+v after %q", p.Name, sign, next)
			}
		}
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestReader(t *testing.T) {
	r := NewReader(Find("megatron"))
	out, errs := r.Stream(), r.Stream()
	wants := func(step int64, steps int, phase string, stepped bool) {
		t.Helper()
		if s := r.Sign(); s.Step != step || s.Steps != steps || s.Phase != phase || s.Stepped != stepped {
			t.Errorf("%+v", s)
		}
	}
	line := " [2025] iteration  %d/ 100 | elapsed time per iteration (ms): 1 |\n"
	// In pieces, with the other stream between.
	text := fmt.Sprintf(line, 7)
	out([]byte(text[:20]))
	errs([]byte("a warning\n"))
	out([]byte(text[20:]))
	wants(7, 1, "", true)
	fmt.Fprintf(writer(out), line, 7) // the same again is no progress
	wants(7, 1, "", true)
	fmt.Fprintf(writer(out), line, 8)
	out([]byte("saving checkpoint at iteration  8 to /x\n"))
	wants(8, 2, "checkpoint", false)
	out([]byte("Evaluating iter 1/10\n"))
	wants(1, 3, "eval", false)
	fmt.Fprintf(writer(out), line, 9)
	wants(9, 4, "eval", true)
	// What is printed at once is not all read, but its end is.
	out([]byte(strings.Repeat("x\n", 1<<20) + fmt.Sprintf(line, 10)))
	wants(10, 5, "eval", true)
	if s := r.Sign(); s.Bytes < 2<<20 {
		t.Error(s.Bytes)
	}
}

// TestTables: what is printed at once with a step is no reason to miss it.
func TestTables(t *testing.T) {
	for _, p := range []*Profile{nil, Find("torchtitan")} {
		r := NewReader(p)
		write := r.Stream()
		table := strings.Repeat("| layer | norm | 0.123 | 0.456 |\n", 200)
		for n := range 5 {
			write(fmt.Appendf(nil, "step: %d  loss: 7.1  tps: 12,345\n%s", n, table))
		}
		if s := r.Sign(); s.Step != 4 || s.Steps != 5 {
			t.Errorf("%+v", s)
		}
	}
}

// TestLoopEnd: after the last step of a loop comes something unknown: an evaluation, a compilation, the training for which all
// that was the preparation.
func TestLoopEnd(t *testing.T) {
	for name, lines := range map[string][3]string{
		"hf":        {" 50%|#| 1/3 [00:01<00:02,  1.00it/s]", " 67%|#| 2/3 [00:02<00:01,  1.00it/s]", "100%|#| 3/3 [00:03<00:00,  1.00it/s]"},
		"keras":     {"1/3 ━━━ 0s 2ms/step - loss: 2.3", "2/3 ━━━ 0s 2ms/step - loss: 2.3", "3/3 ━━━ 0s 2ms/step - loss: 2.3"},
		"lightning": {"Epoch 0:  50%|#| 1/3 [00:01<00:02,  1.00it/s]", "Epoch 0:  67%|#| 2/3 [00:02<00:01,  1.00it/s]", "Epoch 0: 100%|#| 3/3 [00:03<00:00,  1.00it/s]"},
	} {
		r := NewReader(nil)
		write := r.Stream()
		fmt.Fprintf(writer(write), "%s\n%s\n", lines[0], lines[1])
		if s := r.Sign(); s.Profile != name || !s.Stepped || s.Phase != "" {
			t.Errorf("%s: %+v", name, s)
		}
		fmt.Fprintf(writer(write), "%s\n", lines[2])
		if s := r.Sign(); s.Step != 3 || s.Stepped || s.Phase != loopEnd {
			t.Errorf("%s: at the end of the loop: %+v", name, s)
		}
		fmt.Fprintf(writer(write), "%s\n", lines[0])
		if s := r.Sign(); s.Step != 1 || !s.Stepped {
			t.Errorf("%s: in the next one: %+v", name, s)
		}
	}
}

// TestBar is a progress bar that writes carriage returns before its updates.
func TestBar(t *testing.T) {
	r := NewReader(nil)
	write := r.Stream()
	for n := range 5 {
		write(fmt.Appendf(nil, "\r %d%%|█▏  | %d/100 [00:3%d<03:40,  4.00it/s]", n, n, n))
	}
	if s := r.Sign(); s.Profile != "hf" || s.Step != 4 {
		t.Errorf("%+v", s)
	}
}

// TestOrdinary is output that shows no steps.
func TestOrdinary(t *testing.T) {
	r := NewReader(nil)
	write := r.Stream()
	for n := range 100 {
		fmt.Fprintf(writer(write), "iteration %d of something\nGET /%d 200\nEpoch %d\nMap: %d%%|##| %d/100 [00:01<00:01, 9 examples/s]\nstep: %d\n", n, n, n, n, n, n)
	}
	if s := r.Sign(); s.Profile != "" || s.Steps != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCustom(t *testing.T) {
	for _, wrong := range []string{"(", "step", strings.Repeat("x", 2000)} {
		if _, err := Custom(wrong); err == nil {
			t.Errorf("%.20q is no error", wrong)
		}
	}
	p, err := Custom(`^done (\S+)`)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(p)
	write := r.Stream()
	write([]byte("done 5\ndone many\ndone -3\ndone 99999999999999999999\n"))
	if s := r.Sign(); s.Step != 5 || s.Steps != 1 {
		t.Errorf("%+v", s)
	}
	if p := Find("no such"); p != nil {
		t.Error(p.Name)
	}
}

func FuzzReader(f *testing.F) {
	for _, p := range profiles {
		for _, list := range [][]Pattern{p.Steps, p.Phases} {
			for _, pattern := range list {
				f.Add([]byte(pattern.Example+"\r"), 7)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		whole := NewReader(nil)
		whole.Stream()(bytes.Clone(text))
		r := NewReader(nil)
		write := r.Stream()
		for rest := text; len(rest) > 0; {
			n := min(max(1, cut&0xff), len(rest))
			write(rest[:n])
			rest = rest[n:]
		}
		if s := r.Sign(); s.Bytes != int64(len(text)) || s.Step < 0 || s.Steps < 0 {
			t.Errorf("%+v", s)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	block := bytes.Repeat([]byte("some line of output that shows nothing of any step, 80 bytes long or so, and so\n"), 800)
	write := NewReader(nil).Stream()
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		write(block)
	}
}
