package exitcodes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outputs are 64 KiB each: what logs hold, and what would make a careless reader slow.
func outputs(t testing.TB) map[string][]byte {
	t.Helper()
	fill := func(line string) []byte {
		return []byte(strings.Repeat(line+"\n", tailSize/(len(line)+1)))
	}
	all := map[string][]byte{
		"a training run":           nil,
		"tracebacks":               fill("Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nValueError: boom"),
		"chains":                   fill("Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nOSError: [Errno 5] x\n\nDuring handling of the above exception, another exception occurred:\n"),
		"stack dumps":              fill("Fatal Python error: Aborted\n\nThread 0x1 (most recent call first):\n  File \"t.py\", line 1 in <module>\n  <no Python frame>"),
		"what shells say":          fill("run.sh: line 3:    77 Aborted                 (core dumped) python t.py"),
		"tracebacks of many ranks": nil,
		"headers":                  fill("Traceback (most recent call last):"),
		"newlines":                 bytes.Repeat([]byte{'\n'}, tailSize),
		"carriage returns":         bytes.Repeat([]byte("a\r"), tailSize/2),
		"escape sequences":         bytes.Repeat([]byte("\x1b[1;31m"), tailSize/7),
		"brackets":                 bytes.Repeat([]byte("["), tailSize),
		"JSON":                     fill(`{"level":"error","msg":"a","exc":"Traceback (most recent call last):\n  File \"t.py\", line 1\nValueError: x\n"}`),
		"one long line":            bytes.Repeat([]byte("CUDA error: NCCL Errno 5 "), tailSize/25),
		"tags":                     nil,
		"items of a report":        nil,
		"a report with many ranks": nil,
		"a report after lines that are all different":              nil,
		"a report of several, after lines that are all different":  nil,
		"a report that cannot be read, after lines of many shapes": nil,
	}
	var steps, tags, items, ranks bytes.Buffer
	for i := 0; steps.Len() < tailSize-2000; i++ {
		fmt.Fprintf(&steps, "step %d loss %.4f lr 1.5e-04 | consumed samples: %d\n", i, 2.0/float64(i+1), i*512)
	}
	steps.WriteString(printedReset)
	for i := 0; tags.Len() < tailSize; i++ {
		fmt.Fprintf(&tags, "[rank%d]: ValueError: x\n", i)
	}
	var hooks bytes.Buffer
	for i := 0; hooks.Len() < tailSize; i++ {
		fmt.Fprintf(&hooks, "[rank%d]: Traceback (most recent call last):\n[rank%[1]d]:   File \"t.py\", line 1, in f\n[rank%[1]d]: RuntimeError: x\n", i)
	}
	all["tracebacks of many ranks"] = hooks.Bytes()
	items.WriteString("Traceback (most recent call last):\n" + childFailed + ": \nRoot Cause (first observed failure):\n")
	for items.Len() < tailSize {
		items.WriteString("[0]:\n")
	}
	ranks.WriteString("RuntimeError: Connection reset by peer\n" + report())
	for i := 0; ranks.Len() < tailSize; i++ {
		ranks.WriteString("[" + fmt.Sprint(i) + "]:\n" + failure(i, 1, i%60, noTraceback))
	}
	ranks.WriteString("------------\nRoot Cause (first observed failure):\n[0]:\n" + failure(0, 1, 1, noTraceback))
	all["a training run"], all["tags"], all["items of a report"], all["a report with many ranks"] = steps.Bytes(), tags.Bytes(), items.Bytes(), ranks.Bytes()
	for name, report := range map[string]string{
		"a report after lines that are all different": report(failure(0, 1, 1, noTraceback)),
		"a report of several, after lines that are all different": report(failure(0, 1, 1, noTraceback), failure(1, -6, 1, noTraceback),
			failure(2, -11, 1, noTraceback), failure(3, -15, 2, noTraceback)),
		"a report that cannot be read, after lines of many shapes": report(failure(0, 999, 1, noTraceback), failure(1, 999, 2, noTraceback)),
	} {
		all[name] = append(different(tailSize-len(report)), report...)
	}
	samples, err := filepath.Glob("testdata/field/*.log")
	if err != nil {
		t.Fatal(err)
	}
	var real bytes.Buffer
	for _, name := range samples {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		real.Write(data[:min(len(data), 1500)])
	}
	all["the ends of many logs"] = real.Bytes()[:tailSize]
	// What the rules' literals let through to their patterns: each line has those of ten rules, in another order.
	var literals bytes.Buffer
	rules := BuiltinRules().list
	for i := 0; literals.Len() < tailSize; i++ {
		for j := range 10 {
			if list := rules[(i*7+j*31)%len(rules)].Literals; len(list) > 0 {
				literals.WriteString(list[i%len(list)] + ", ")
			}
		}
		literals.WriteByte('\n')
	}
	all["literals of the rules"] = literals.Bytes()[:tailSize]
	return all
}

// different is n bytes of lines of which no two have the same words.
func different(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		for d := i; d > 0 || d == i; d /= 26 {
			fmt.Fprintf(&b, "%c is what the loader says, ", 'a'+d%26)
			if d == 0 {
				break
			}
		}
		b.WriteString("step 7 loss 2.5\n")
	}
	return append(b.Bytes()[:n-1], '\n')
}

const (
	tailSize     = 64 << 10
	printedReset = "Traceback (most recent call last):\n  File \"/app/train.py\", line 210, in <module>\n    main()\nConnectionResetError: [Errno 104] Connection reset by peer\n"
)

// Whatever an output holds, at most 16 bytes are read for each byte of it.
func TestReadingIsLinear(t *testing.T) {
	for name, output := range outputs(t) {
		for _, o := range []Outcome{exited(1), killed(6), exited(0)} {
			o.Output, o.meter = output, newMeter(len(output))
			Judge(o, BuiltinRules())
			if o.meter.spent > perByte*len(output) {
				t.Errorf("%s, %+v: %d bytes looked at, %.1f for each", name, o.Status, o.meter.spent, float64(o.meter.spent)/float64(len(output)))
			}
		}
	}
}

func BenchmarkJudge64KiB(b *testing.B) {
	for name, output := range outputs(b) {
		b.Run(name, func(b *testing.B) {
			o := exited(1)
			o.Output = output
			m := newMeter(len(output))
			o.meter = m
			Judge(o, BuiltinRules())
			o.meter = nil
			b.SetBytes(int64(len(output)))
			for b.Loop() {
				Judge(o, BuiltinRules())
			}
			b.ReportMetric(float64(m.spent)/float64(len(output)), "looked-at/B")
		})
	}
}

// What the first failure of a run costs beyond a later one: until then nothing is made of rules and phrases.
func BenchmarkFirstJudgement(b *testing.B) {
	o := exited(1)
	o.Output = []byte(printedReset)
	for b.Loop() {
		for _, v := range []*vocabulary{phrases, wordings} {
			newPrefilter(v.lists)
		}
		Judge(o, builtinRules())
	}
}
