// Package shared has what several goroutines use at once, for tests.
package shared

import (
	"bytes"
	"sync"
)

// Buffer keeps what is written to it, as a log or a console does.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps what it is given; it never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is all that has been written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
