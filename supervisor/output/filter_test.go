package output

import "testing"

// TestFilter keeps the lines with one of the texts, each behind its stream's prefix, which is not searched itself.
func TestFilter(t *testing.T) {
	tests := []struct{ name, prefix, text, want string }{
		{"some lines", "[0]:", "a loss 1\nnothing\nb grad 2\n", "[0]:a loss 1\n[0]:b grad 2\n"},
		{"no prefix", "", "a loss\nnothing\n", "a loss\n"},
		{"a text in the prefix", "[loss]:", "nothing\n\na loss\n", "[loss]:a loss\n"},
		{"the prefix in a line", "[0]:", "[0]: loss\n", "[0]:[0]: loss\n"},
		{"across the prefix's end", "[lo", "ss\n", ""},
		{"progress", "[0]:", "loss\rgrad\n", "[0]:loss\r[0]:grad\n"},
		{"an end without a newline", "[0]:", "nothing\nloss", "[0]:loss"},
		{"nothing wanted", "[0]:", "nothing\n\nend", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var kept screen
			some := NewConsole(&kept, ConsoleOptions{})
			filter := &Filter{Console: some, Prefix: tt.prefix, Contains: []string{"loss", "grad"}}
			s, w, err := NewStream(StreamConfig{Filter: filter})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.WriteString(tt.text); err != nil {
				t.Fatal(err)
			}
			w.Close()
			<-s.Done()
			closeInTime(t, some)
			if got := kept.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestFilterIsShared has two streams on one console.
func TestFilterIsShared(t *testing.T) {
	var kept screen
	some := NewConsole(&kept, ConsoleOptions{})
	for _, prefix := range []string{"[0]:", "[1]:"} { // one after the other, for the order
		s, w, err := NewStream(StreamConfig{Filter: &Filter{Console: some, Prefix: prefix, Contains: []string{"loss"}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString("nothing\nloss"); err != nil {
			t.Fatal(err)
		}
		w.Close()
		<-s.Done()
	}
	closeInTime(t, some)
	if got, want := kept.String(), "[0]:loss\n[1]:loss"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
