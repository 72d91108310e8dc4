package output

import "sync"

// blockSize is what one read takes at most, and the unit in which a console's backlog is kept.
const blockSize = 64 << 10

// block is a piece of a console's backlog.
type block struct {
	next *block
	n    int
	data [blockSize]byte
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// queue is a console's backlog in blocks, so that it takes memory for what is waiting and no more. Small messages share
// a block, and so go out in one write.
type queue struct {
	head, tail *block
}

func (q *queue) push(p []byte) {
	for len(p) > 0 {
		if q.tail == nil || q.tail.n == blockSize {
			b := blocks.Get().(*block)
			b.next, b.n = nil, 0
			if q.tail == nil {
				q.head = b
			} else {
				q.tail.next = b
			}
			q.tail = b
		}
		n := copy(q.tail.data[q.tail.n:], p)
		q.tail.n += n
		p = p[n:]
	}
}

// pop takes the oldest block out, full or not; nil when there is none.
func (q *queue) pop() *block {
	b := q.head
	if b == nil {
		return nil
	}
	q.head = b.next
	if q.head == nil {
		q.tail = nil
	}
	return b
}
