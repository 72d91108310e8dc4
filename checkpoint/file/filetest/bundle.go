package filetest

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func masked(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

// Pair is a key and its value in a table.
type Pair struct{ Key, Value string }

// Table is a table of LevelDB with these pairs, which have to be in order, and blocks of about so many bytes.
func Table(blockSize int, pairs ...Pair) []byte {
	var b []byte
	var index, entries []Pair
	block := func(entries []Pair) string {
		at := len(b)
		body := tableBlock(entries)
		body = append(body, 0) // no compression
		b = binary.LittleEndian.AppendUint32(append(b, body...), masked(crc32.Checksum(body, castagnoli)))
		return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(at)), uint64(len(body)-1)))
	}
	size := 0
	for i, p := range pairs {
		entries = append(entries, p)
		if size += len(p.Key) + len(p.Value); size >= blockSize || i == len(pairs)-1 {
			index = append(index, Pair{p.Key, block(entries)})
			entries, size = nil, 0
		}
	}
	meta := block(nil)
	footer := []byte(meta + block(index))
	footer = append(footer, make([]byte, 40-len(footer))...)
	return append(b, binary.LittleEndian.AppendUint64(footer, 0xdb4775248b80fb57)...)
}

// tableBlock writes one block, in which every third key is a restart point.
func tableBlock(entries []Pair) (b []byte) {
	var restarts []uint32
	last := ""
	for i, p := range entries {
		shared := 0
		if i%3 == 0 {
			restarts = append(restarts, uint32(len(b)))
		} else {
			for shared < len(last) && shared < len(p.Key) && last[shared] == p.Key[shared] {
				shared++
			}
		}
		for _, n := range []int{shared, len(p.Key) - shared, len(p.Value)} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		b = append(append(b, p.Key[shared:]...), p.Value...)
		last = p.Key
	}
	if len(restarts) == 0 {
		restarts = []uint32{0}
	}
	for _, r := range restarts {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(len(restarts)))
}

// Bundle is a tensor bundle of TensorFlow with one data file for each list, in which there is a tensor of bytes for each
// string.
func Bundle(shards ...[]string) (index []byte, data [][]byte) {
	pairs := []Pair{{"", string(append(binary.AppendUvarint([]byte{1 << 3}, uint64(len(shards))), 3<<3|2, 2, 8, 1))}}
	for s, tensors := range shards {
		var b []byte
		for i, t := range tensors {
			dimension := binary.AppendUvarint([]byte{1 << 3}, uint64(len(t)))
			shape := append([]byte{2<<3 | 2, byte(len(dimension))}, dimension...)
			entry := append([]byte{1 << 3, 4, 2<<3 | 2, byte(len(shape))}, shape...) // of the type uint8
			entry = binary.AppendUvarint(append(entry, 3<<3), uint64(s))
			entry = binary.AppendUvarint(append(entry, 4<<3), uint64(len(b)))
			entry = binary.AppendUvarint(append(entry, 5<<3), uint64(len(t)))
			entry = binary.LittleEndian.AppendUint32(append(entry, 6<<3|5), masked(crc32.Checksum([]byte(t), castagnoli)))
			name := "layer" + string(rune('0'+s)) + "/kernel" + string(rune('a'+i)) + "/.ATTRIBUTES/VARIABLE_VALUE"
			pairs = append(pairs, Pair{name, string(entry)})
			b = append(b, t...)
		}
		data = append(data, b)
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	return Table(100, pairs...), data
}

// OCDBTManifest is a manifest of TensorStore's OCDBT with these bytes between its length and its CRC.
func OCDBTManifest(body string) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{0x0c, 0xdb, 0x3a, 0x2a}, uint64(16+len(body)))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}
