package filetest

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Safetensors is a file with one tensor of bytes of each of these sizes.
func Safetensors(sizes ...int) []byte {
	var header strings.Builder
	header.WriteString(`{"__metadata__":{"format":"pt"}`)
	total := 0
	for i, size := range sizes {
		fmt.Fprintf(&header, `,"tensor%d":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]}`, i, size, total, total+size)
		total += size
	}
	header.WriteString("}")
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))
	return append(append(b, header.String()...), make([]byte, total)...)
}

// WeightIndex is the index of a model in shards, with one tensor in each.
func WeightIndex(files ...string) []byte {
	var b strings.Builder
	b.WriteString("{\n  \"metadata\": {\"total_size\": 8},\n  \"weight_map\": {")
	for i, name := range files {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n    \"tensor%d\": %q", i, name)
	}
	b.WriteString("\n  }\n}\n")
	return []byte(b.String())
}
