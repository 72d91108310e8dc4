package output

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// inChunks formats p cut at the given lengths, and flushes.
func inChunks(prefix string, p []byte, lengths func() int) []byte {
	l := lines{prefix: prefix}
	var all []byte
	for len(p) > 0 {
		n := min(max(lengths(), 1), len(p))
		for chunk := p[:n]; len(chunk) > 0; {
			var out []byte
			out, chunk = l.format(nil, chunk)
			all = append(all, out...)
		}
		p = p[n:]
	}
	return l.flush(all)
}

// byTheRules says what has to come out for p, one byte at a time and without a thought for speed.
func byTheRules(prefix string, p []byte) []byte {
	var all, line []byte
	update := false // the last to come out ended in a carriage return
	out := func(end string) {
		all = append(append(append(all, prefix...), line...), end...)
		line = nil
		update = end == "\r"
	}
	for _, c := range p {
		switch {
		case c == '\n' && len(line) == 0 && update:
			all = append(all, '\n')
			update = false
		case c == '\n':
			out("\n")
		case c == '\r' && len(line) == 0:
		case c == '\r':
			out("\r")
		default:
			if len(line) == maxLine {
				out("\n")
			}
			line = append(line, c)
		}
	}
	if len(line) > 0 {
		out("")
	}
	return all
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, test := range []struct {
		name, in, out string
	}{
		{"nothing", "", ""},
		{"a line", "a\n", "[p]:a\n"},
		{"two lines", "a\nb\n", "[p]:a\n[p]:b\n"},
		{"empty lines", "\n\n", "[p]:\n[p]:\n"},
		{"no newline at the end", "a\nb", "[p]:a\n[p]:b"},
		{"NUL bytes", "a\x00b\n\x00\n", "[p]:a\x00b\n[p]:\x00\n"},
		{"progress", "1%\r2%\r3%\n", "[p]:1%\r[p]:2%\r[p]:3%\n"},
		{"progress that starts with a return", "\r1%\r2%\n", "[p]:1%\r[p]:2%\n"},
		{"lines of another system", "a\r\nb\r\n", "[p]:a\r\n[p]:b\r\n"},
		{"empty line of another system", "\r\n", "[p]:\n"},
		{"returns before the newline", "a\r\r\r\n", "[p]:a\r\n"},
		{"empty line after progress", "a\r\n\n", "[p]:a\r\n[p]:\n"},
		{"as long as may be", long + "\n", "[p]:" + long + "\n"},
		{"too long by one", long + "y\n", "[p]:" + long + "\n[p]:y\n"},
		{"too long, no newline", long + long + "y", "[p]:" + long + "\n[p]:" + long + "\n[p]:y"},
		{"long update", long + "\r\n", "[p]:" + long + "\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := []byte(test.in)
			if got := inChunks("[p]:", in, func() int { return len(in) }); string(got) != test.out {
				t.Errorf("in one piece: got %.200q, want %.200q", got, test.out)
			}
			if got := inChunks("[p]:", in, func() int { return 1 }); string(got) != test.out {
				t.Errorf("byte by byte: got %.200q, want %.200q", got, test.out)
			}
		})
	}
}

func TestLinesAnyChunks(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		in := someText(random, random.IntN(300<<10))
		longest := 1 << random.IntN(18)
		got := inChunks("[p]:", in, func() int { return random.IntN(longest) })
		if want := byTheRules("[p]:", in); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: chunks up to %d: %s", seed, longest, difference(got, want))
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("[p]:", []byte("a\r\nb\rc\n\n\r\r\nd"), uint64(1))
	f.Add("", []byte("\n\r\n\x00"), uint64(2))
	f.Add("[p]:", bytes.Repeat([]byte("x"), maxLine+1), uint64(3))
	f.Fuzz(func(t *testing.T, prefix string, in []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		got := inChunks(prefix, in, func() int { return random.IntN(len(in) + 1) })
		if want := byTheRules(prefix, in); !bytes.Equal(got, want) {
			t.Errorf("%s", difference(got, want))
		}
	})
}

func TestFormatKeepsItsBufferSmall(t *testing.T) {
	l := lines{prefix: strings.Repeat("p", 100)}
	in := bytes.Repeat([]byte("\n"), 1<<20)
	rest := in
	for len(rest) > 0 {
		var out []byte
		out, rest = l.format(nil, rest)
		if most := blockSize + 101; len(out) > most {
			t.Fatalf("%d bytes at once, want at most %d", len(out), most)
		}
	}
}
