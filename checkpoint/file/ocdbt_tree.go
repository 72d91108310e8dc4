package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	ocdbtNode = 0x0cdb20de // begins a node of the tree
	// maxOCDBTNode bounds a node, unpacked, and maxOCDBTNodes how many of one tree are read.
	maxOCDBTNode  = 64 << 20
	maxOCDBTNodes = 1 << 16
	maxOCDBTFiles = 1 << 16
)

// OCDBTExtent is how far a file of data of a store is used: up to End, where a value of Last bytes ends; Last is 0 where
// a node of the tree does.
type OCDBTExtent struct{ End, Last int64 }

// OCDBTTree follows the newest version of a store of OCDBT from its manifest through all nodes of its tree, by
// tensorstore/kvstore/ocdbt/index.rst: it compares their sums, and returns the files of data that they name and how far
// each is used. read returns so many bytes of such a file from an offset.
func OCDBTTree(manifest []byte, read func(name string, at, length int64) ([]byte, error)) (map[string]OCDBTExtent, error) {
	body, err := ocdbtBody(manifest, ocdbtMagic)
	if err != nil {
		return nil, err
	}
	t := ocdbtTree{read: read, files: make(map[string]OCDBTExtent), seen: make(map[ocdbtPlace]bool)}
	c := &ocdbtReader{b: body}
	c.take(16) // the store's identifier
	if kind := c.number(); kind != 0 {
		return nil, fmt.Errorf("a manifest of kind %d: %w", kind, ErrNoShape) // the versions are in files of their own
	}
	c.number()
	c.number()
	c.take(1)
	if c.number() != 0 {
		c.take(4) // the level of compression
	}
	paths := c.table("")
	n := c.count()
	c.skip(n) // generations
	heights := c.take(n)
	ids, offsets, lengths := c.numbers(n), c.numbers(n), c.numbers(n)
	if c.bad || n == 0 {
		return nil, problem.New(problem.BadIndex, "its list of versions is malformed")
	}
	last := n - 1
	if lengths[last] == 0 {
		return t.files, nil // an empty store
	}
	place, ok := paths.place(ids[last], offsets[last], lengths[last])
	if !ok {
		return nil, problem.New(problem.BadIndex, "its newest version is in a file that it does not name")
	}
	return t.files, t.node(place, int(heights[last]))
}

type ocdbtPlace struct {
	base, name string
	at, length int64
}

type ocdbtTree struct {
	read  func(name string, at, length int64) ([]byte, error)
	files map[string]OCDBTExtent
	seen  map[ocdbtPlace]bool
}

func (t *ocdbtTree) use(p ocdbtPlace, value bool) error {
	x, known := t.files[p.name]
	if !known && len(t.files) == maxOCDBTFiles {
		return problem.New(problem.BadIndex, "it names more than %d files", maxOCDBTFiles)
	}
	if end := p.at + p.length; end >= x.End {
		if x.End, x.Last = end, 0; value {
			x.Last = p.length
		}
	}
	t.files[p.name] = x
	return nil
}

// node reads one node, and those below it.
func (t *ocdbtTree) node(p ocdbtPlace, height int) error {
	if t.seen[p] || len(t.seen) == maxOCDBTNodes {
		return nil
	}
	t.seen[p] = true
	if err := t.use(p, false); err != nil {
		return err
	}
	if p.length > maxOCDBTNode {
		return problem.New(problem.BadIndex, "a node of it has %d bytes", p.length)
	}
	data, err := t.read(p.name, p.at, p.length)
	if err != nil {
		return err
	}
	body, err := ocdbtBody(data, ocdbtNode)
	if err != nil {
		return err
	}
	c := &ocdbtReader{b: body}
	if h := c.take(1); len(h) == 1 && int(h[0]) != height || height > 32 {
		return problem.New(problem.BadIndex, "%s: a node at byte %d has another height than %d", p.name, p.at, height)
	}
	paths := c.table(p.base)
	n := c.count()
	if height == 0 {
		return t.leaf(c, paths, n)
	}
	c.skip(n - 1)
	suffixes := c.sum(n)
	c.skip(n)
	c.take(suffixes)
	ids, offsets, lengths := c.numbers(n), c.numbers(n), c.numbers(n)
	if c.bad {
		return problem.New(problem.BadIndex, "%s: a node at byte %d is malformed", p.name, p.at)
	}
	for i := range n {
		below, ok := paths.place(ids[i], offsets[i], lengths[i])
		if !ok {
			return problem.New(problem.BadIndex, "%s: a node at byte %d leads to a file that it does not name", p.name, p.at)
		}
		if err := t.node(below, height-1); err != nil {
			return err
		}
	}
	return nil
}

// leaf notes where the values are that do not stand in the node itself.
func (t *ocdbtTree) leaf(c *ocdbtReader, paths ocdbtPaths, n int) error {
	c.skip(n - 1)
	c.take(c.sum(n))
	lengths, kinds := c.numbers(n), c.numbers(n)
	var indirect []int64
	for i := range kinds {
		if kinds[i] != 0 {
			indirect = append(indirect, lengths[i])
		}
	}
	ids, offsets := c.numbers(len(indirect)), c.numbers(len(indirect))
	if c.bad {
		return problem.New(problem.BadIndex, "a leaf of its tree is malformed")
	}
	for i, length := range indirect {
		p, ok := paths.place(ids[i], offsets[i], length)
		if !ok {
			return problem.New(problem.BadIndex, "a leaf of its tree leads to a file that it does not name")
		}
		if err := t.use(p, true); err != nil {
			return err
		}
	}
	return nil
}

// ocdbtBody takes the header and the sum off a manifest or a node, and unpacks it.
func ocdbtBody(data []byte, magic uint32) ([]byte, error) {
	if len(data) < 4+8+2+4 || binary.BigEndian.Uint32(data) != magic || binary.LittleEndian.Uint64(data[4:]) != uint64(len(data)) {
		return nil, problem.New(problem.BadIndex, "%d bytes of it begin with % x, not as they should", len(data), data[:min(len(data), 12)])
	}
	sum := data[len(data)-4:]
	if got := crc32.Checksum(data[:len(data)-4], Castagnoli()); got != binary.LittleEndian.Uint32(sum) {
		return nil, problem.New(problem.HashMismatch, "a part of it has the CRC-32C %08x, %08x expected", got, binary.LittleEndian.Uint32(sum))
	}
	c := &ocdbtReader{b: data[12 : len(data)-4]}
	version, packed := c.number(), c.number()
	switch {
	case c.bad || version != 0:
		return nil, fmt.Errorf("a version %d of the store: %w", version, ErrNoShape)
	case packed == 0:
		return c.b, nil
	case packed != 1:
		return nil, fmt.Errorf("a compression %d of the store: %w", packed, ErrNoShape)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxOCDBTNode))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	body, err := z.DecodeAll(c.b, nil)
	if err != nil {
		return nil, problem.New(problem.BadIndex, "a part of it cannot be unpacked: %v", err)
	}
	return body, nil
}

// ocdbtPaths are the files that a node names, each after the path that goes for what it leads to.
type ocdbtPaths []ocdbtPlace

func (ps ocdbtPaths) place(id, at, length int64) (ocdbtPlace, bool) {
	if id < 0 || id >= int64(len(ps)) || at < 0 || length < 0 || at > 1<<60 || length > 1<<60 {
		return ocdbtPlace{}, false
	}
	p := ps[id]
	p.at, p.length = at, length
	return p, true
}

// ocdbtReader reads the numbers and texts of a node. After the first that is not there it is bad, and reads nothing more.
type ocdbtReader struct {
	b   []byte
	bad bool
}

func (c *ocdbtReader) number() int64 {
	n, size := binary.Uvarint(c.b)
	if size <= 0 || n > 1<<62 {
		c.b, c.bad = nil, true
		return 0
	}
	c.b = c.b[size:]
	return int64(n)
}

// count reads how many entries follow, each of at least a byte.
func (c *ocdbtReader) count() int {
	n := c.number()
	if n > int64(len(c.b)) {
		c.b, c.bad = nil, true
		return 0
	}
	return int(n)
}

func (c *ocdbtReader) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.b, c.bad = nil, true
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *ocdbtReader) numbers(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = c.number()
	}
	return list
}

func (c *ocdbtReader) skip(n int) {
	for range n {
		c.number()
	}
}

func (c *ocdbtReader) sum(n int) (total int) {
	for range n {
		total += int(min(c.number(), 1<<40))
	}
	return total
}

// table reads the files that a node names. transitive is the path that goes for it.
func (c *ocdbtReader) table(transitive string) (paths ocdbtPaths) {
	n := c.count()
	prefixes := append([]int64{0}, c.numbers(max(n-1, 0))...)
	suffixes, bases := c.numbers(n), c.numbers(n)
	before := ""
	for i := range n {
		suffix := string(c.take(int(min(suffixes[i], 1<<20))))
		if prefixes[i] > int64(len(before)) {
			c.bad = true
			return nil
		}
		full := before[:prefixes[i]] + suffix
		if bases[i] > int64(len(full)) || len(full) > 1<<16 {
			c.bad = true
			return nil
		}
		paths = append(paths, ocdbtPlace{base: transitive + full[:bases[i]], name: strings.Clone(transitive + full)})
		before = full
	}
	return paths
}

// zstdMagic begins what zstd has packed (RFC 8878).
const zstdMagic = "\x28\xb5\x2f\xfd"

// Zstd unpacks what begins as zstd does, and reports whether it did; anything else is nothing of its.
func Zstd(data []byte) (packed bool, err error) {
	if !bytes.HasPrefix(data, []byte(zstdMagic)) {
		return false, nil
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return true, err
	}
	defer z.Close()
	if _, err := z.DecodeAll(data, nil); err != nil && !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return true, problem.New(problem.Truncated, "it cannot be unpacked: %v", err)
	}
	return true, nil
}
