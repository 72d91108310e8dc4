package file

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
)

// Groups in the form that superblocks of the versions 0 and 1 come with: a tree of nodes with symbols, whose names lie in
// a heap (III.A.1, III.B and III.D of the specification).

const (
	hdf5MaxNodes   = 64 // of the tree of one group
	hdf5MaxSymbols = 1 << 10
	hdf5MaxObject  = 4 << 10 // the header of one object
)

// hdf5Group is where the symbols of a group are.
type hdf5Group struct{ tree, heap int64 }

// hdf5Symbol is one entry of a group.
type hdf5Symbol struct {
	header int64
	group  hdf5Group
	nested bool // it is known to be a group
}

// untrainedKeras reports whether the optimizer in a file of weights of Keras 3 has not made a step: it has no state but
// its count, which is 0, and its rate. A model that was compiled and not trained is saved with one. What cannot be read
// here is not known.
func (h HDF5) untrainedKeras(r io.ReaderAt) bool {
	g := hdf5Group{h.tree, h.heap}
	for _, name := range []string{"optimizer", "vars"} {
		found, _ := h.symbol(r, g, name)
		if found == nil || !found.nested {
			return false
		}
		g = found.group
	}
	count, symbols := h.symbol(r, g, "0")
	if count == nil || symbols > 2 {
		return false
	}
	n, ok := h.number(r, count.header)
	return ok && n == 0
}

// KerasNames lists the names in the root group as Names does, but for that of an optimizer that has not made a step.
func (h HDF5) KerasNames(r io.ReaderAt) ([]string, error) {
	names, err := h.Names(r)
	if err == nil && slices.Contains(names, "optimizer") && h.untrainedKeras(r) {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "optimizer" })
	}
	return names, err
}

// at reads up to n bytes of the file.
func (h HDF5) at(r io.ReaderAt, at int64, n int) []byte {
	if at < 0 || at > h.End-h.base {
		return nil
	}
	b := make([]byte, min(int64(n), h.End-h.base-at))
	if err := readAt(r, b, h.base+at); err != nil {
		return nil
	}
	return b
}

// symbol finds an entry of a group, nil when there is none, and counts them all.
func (h HDF5) symbol(r io.ReaderAt, g hdf5Group, name string) (found *hdf5Symbol, symbols int) {
	head := h.at(r, g.heap, 8+2*h.long+h.wide)
	f := fields{b: head, at: 8 + 2*h.long}
	names := f.address(h.wide)
	if f.short || !bytes.HasPrefix(head, []byte("HEAP")) {
		return nil, 0
	}
	nodes := []int64{g.tree}
	for n := 0; n < len(nodes) && n < hdf5MaxNodes && symbols < hdf5MaxSymbols; n++ {
		b := h.at(r, nodes[n], 8+64*(2*h.wide+24))
		if len(b) < 8 {
			return nil, 0
		}
		used := int(binary.LittleEndian.Uint16(b[6:]))
		switch {
		case bytes.HasPrefix(b, []byte("TREE")) && b[4] == 0:
			f := fields{b: b, at: 8 + 2*h.wide}
			for range used {
				f.address(h.long) // the key
				if child := f.address(h.wide); !f.short {
					nodes = append(nodes, child)
				}
			}
		case bytes.HasPrefix(b, []byte("SNOD")):
			f := fields{b: b, at: 8}
			for range used {
				s := h.entry(&f)
				if f.short {
					break
				}
				symbols++
				if text := h.at(r, names+s.offset, len(name)+1); string(text) == name+"\x00" {
					found = &s.hdf5Symbol
				}
			}
		}
	}
	return found, symbols
}

type hdf5Entry struct {
	hdf5Symbol
	offset int64 // of the name
}

// entry reads one entry of a node, and where the group's own symbols are when that is noted in it.
func (h HDF5) entry(f *fields) (e hdf5Entry) {
	e.offset = f.address(h.wide)
	e.header = f.address(h.wide)
	cached := f.uint(4)
	f.uint(4)
	end := f.at + 16
	if e.nested = cached == 1; e.nested {
		e.group = hdf5Group{f.address(h.wide), f.address(h.wide)}
	}
	f.at = end
	return e
}

// number is the value of a whole number that is kept by itself, by the header of its object of version 1 (IV.A.1.a).
func (h HDF5) number(r io.ReaderAt, header int64) (n int64, ok bool) {
	b := h.at(r, header, hdf5MaxObject)
	if len(b) < 16 || b[0] != 1 {
		return 0, false
	}
	const layout = 8
	end := min(len(b), 16+int(binary.LittleEndian.Uint32(b[8:])))
	for at := 16; at+8 <= end; {
		kind, size := binary.LittleEndian.Uint16(b[at:]), int(binary.LittleEndian.Uint16(b[at+2:]))
		data := b[at+8 : min(at+8+size, end)]
		at += 8 + size
		if kind != layout || len(data) < 2 || data[0] != 3 {
			continue
		}
		var value []byte
		switch f := (fields{b: data, at: 2}); data[1] {
		case 0: // within the header
			size := int(f.uint(2))
			value = data[f.at:min(len(data), f.at+size)]
		case 1:
			from, size := f.address(h.wide), f.address(h.long)
			if size != 8 {
				return 0, false
			}
			value = h.at(r, from, 8)
		}
		if len(value) != 8 {
			return 0, false
		}
		return int64(binary.LittleEndian.Uint64(value)), true
	}
	return 0, false
}
