package output

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTail(t *testing.T) {
	type step struct {
		part int
		text string
	}
	long := strings.Repeat("x", TailSize)
	for _, test := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"nothing", nil, ""},
		{"one stream", []step{{0, "a\n"}, {0, "b\n"}}, "a\nb\n"},
		{"NUL bytes", []step{{0, "a\x00\n\x00"}}, "a\x00\n\x00"},
		{"in the order they were complete", []step{{0, "a"}, {1, "b\n"}, {0, "a\n"}}, "b\naa\n"},
		{"unfinished lines of both", []step{{1, "b"}, {0, "a"}}, "a\nb"},
		{"long unfinished line", []step{{0, long[:maxHeld+1]}, {1, "b\n"}}, long[:maxHeld+1] + "\nb\n"},
		{"long unfinished line goes on", []step{{0, long[:maxHeld+1]}, {0, "a\n"}, {1, "b\n"}},
			long[:maxHeld+1] + "a\nb\n"},
		{"just full", []step{{0, "a\n"}, {0, long[:TailSize-3] + "\n"}}, "a\n" + long[:TailSize-3] + "\n"},
		{"too much by one", []step{{0, "a\nb\n"}, {0, long[:TailSize-4] + "\n"}}, "b\n" + long[:TailSize-4] + "\n"},
		{"one long line", []step{{0, "a\n" + long + "\n"}}, long[1:] + "\n"},
		{"too much at once", []step{{0, "abc\nd\n" + long[:TailSize-5] + "\n"}}, "d\n" + long[:TailSize-5] + "\n"},
		{"unfinished line counts", []step{{0, "a\nb\n" + long[:TailSize-6] + "\n"}, {1, "cd"}},
			"b\n" + long[:TailSize-6] + "\ncd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tail := new(Tail)
			parts := []*tailPart{tail.join(), tail.join()}
			for _, step := range test.steps {
				parts[step.part].write([]byte(step.text))
			}
			if got, want := tail.Bytes(), []byte(test.want); !bytes.Equal(got, want) {
				t.Error(difference(got, want))
			}
		})
	}
}

// Of one stream a tail is the end, whatever the chunks were.
func TestTailAnyChunks(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		all := someText(random, random.IntN(4*TailSize))
		tail := new(Tail)
		part := tail.join()
		longest := 1 << random.IntN(18)
		for p := all; len(p) > 0; {
			n := min(random.IntN(longest)+1, len(p))
			part.write(p[:n])
			p = p[n:]
			if len(tail.ring) > TailSize || cap(part.held) > 2*maxHeld {
				t.Fatalf("seed %d: %d and %d bytes of memory", seed, len(tail.ring), cap(part.held))
			}
		}
		want := all
		if len(all) > TailSize {
			want = all[len(all)-TailSize:]
			if i := bytes.IndexByte(want[:TailSize/2], '\n'); i >= 0 {
				want = want[i+1:]
			}
		}
		if got := tail.Bytes(); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %s", seed, difference(got, want))
		}
	}
}

func TestTailOfManyAtOnce(t *testing.T) {
	tail := new(Tail)
	var all sync.WaitGroup
	for id := range 2 {
		all.Go(func() {
			part := tail.join()
			for i := range 3000 {
				line := fmt.Sprintf("stream %d line %d\n", id, i)
				part.write([]byte(line[:5]))
				part.write([]byte(line[5:]))
				if i%100 == 0 {
					tail.Bytes()
				}
			}
		})
	}
	all.Wait()
	seen := map[int]int{}
	for line := range strings.Lines(string(tail.Bytes())) {
		var id, i int
		if _, err := fmt.Sscanf(line, "stream %d line %d\n", &id, &i); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if last, ok := seen[id]; ok && i != last+1 {
			t.Fatalf("stream %d: line %d after %d", id, i, last)
		}
		seen[id] = i
	}
	if seen[0] != 2999 && seen[1] != 2999 {
		t.Errorf("last lines: %v", seen)
	}
}

func TestTailIsCheapWhenEmpty(t *testing.T) {
	tail := new(Tail)
	tail.join().write([]byte("hello\n"))
	if len(tail.ring) > 1<<10 {
		t.Errorf("%d bytes for a short line", len(tail.ring))
	}
}

// The times that a tail tells are those at which its lines were complete, however much of it has gone.
func TestTailTellsWhenLinesArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tail Tail
		part, begin := tail.join(), time.Now()
		const lines = 5000
		for i := range lines {
			part.write(fmt.Appendf(nil, "step %d loss 0.123456789012345\n", i))
			time.Sleep(time.Second)
		}
		text, arrived := tail.Read()
		if len(arrived) == 0 || len(arrived) > maxMarks || arrived[0].Offset != 0 {
			t.Fatalf("%d arrivals, the first %+v", len(arrived), arrived[:1])
		}
		for i, a := range arrived {
			var step int
			if _, err := fmt.Sscanf(string(text[a.Offset:]), "step %d", &step); err != nil {
				t.Fatalf("arrival %d is in the middle of a line: %v", i, err)
			}
			if late := a.At.Sub(begin) - time.Duration(step)*time.Second; late > 0 || late < -4*time.Second {
				t.Errorf("step %d arrived %v away from its time", step, late)
			}
		}
		if last := arrived[len(arrived)-1]; last.At.Sub(begin) < (lines-5)*time.Second {
			t.Errorf("the last arrival is at %v", last.At.Sub(begin))
		}
	})
}

// However fast two streams take turns, a tail knows of its last lines by which of them each came; so it does of a line that
// has not ended.
func TestTailTellsTheStreams(t *testing.T) {
	for _, lines := range []int{3, 1000, 5000} {
		tail := new(Tail)
		parts := []*tailPart{tail.join(), tail.join()}
		for i := range lines {
			fmt.Fprintf(writing(parts[i%2].write), "%d is odd or even\n", i)
		}
		parts[1].write([]byte("1 has"))
		parts[0].write([]byte("0 has not ended"))
		text, arrived := tail.Read()
		if len(arrived) > maxMarks+2 {
			t.Errorf("%d lines: %d arrivals", lines, len(arrived))
		}
		all := bytes.SplitAfter(text, []byte("\n"))
		offset, stream, next, wrong := 0, 0, 0, 0
		for n, line := range all {
			for next < len(arrived) && arrived[next].Offset <= offset {
				stream, next = arrived[next].Stream, next+1
			}
			offset += len(line)
			number := 0
			if _, err := fmt.Sscanf(string(line), "%d ", &number); err != nil {
				t.Fatal(err)
			}
			if stream == 0 {
				wrong++
			}
			if stream != 0 && stream != number%2+1 || stream == 0 && n > len(all)-maxMarks/2 {
				t.Fatalf("%d lines: line %q is said to be of stream %d", lines, line, stream)
			}
		}
		if lines <= maxMarks && wrong > 0 {
			t.Errorf("%d lines: the streams of %d are not known", lines, wrong)
		}
		for i, a := range arrived {
			if i > 0 && a.At.Before(arrived[i-1].At) {
				t.Errorf("%d lines: arrival %d is earlier than the one before it", lines, i)
			}
		}
	}
}

// writing makes a writer of a function.
type writing func(p []byte)

func (w writing) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
