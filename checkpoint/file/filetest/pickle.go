// Package filetest writes the files of training frameworks for tests, byte for byte in the form in which the frameworks
// do: small, and without them.
package filetest

import (
	"encoding/binary"
	"strconv"
)

// Pickle writes one pickle of Python, opcode by opcode. It remembers nothing, where Python's own remembers everything.
type Pickle struct{ b []byte }

// NewPickle begins a pickle of a protocol.
func NewPickle(protocol byte) *Pickle { return &Pickle{[]byte{0x80, protocol}} }

// Op writes opcodes as they are.
func (p *Pickle) Op(opcodes string) *Pickle {
	p.b = append(p.b, opcodes...)
	return p
}

// Text writes a BINUNICODE.
func (p *Pickle) Text(s string) *Pickle {
	p.b = binary.LittleEndian.AppendUint32(append(p.b, 'X'), uint32(len(s)))
	return p.Op(s)
}

// Int writes a LONG1 of eight bytes.
func (p *Pickle) Int(n int64) *Pickle {
	p.b = binary.LittleEndian.AppendUint64(append(p.b, 0x8a, 8), uint64(n))
	return p
}

// Global writes the name of a class or a function.
func (p *Pickle) Global(module, name string) *Pickle { return p.Op("c" + module + "\n" + name + "\n") }

// Stop ends the pickle.
func (p *Pickle) Stop() []byte { return append(p.b, '.') }

// state writes what torch.save pickles for a dictionary with one tensor of bytes for each storage. In the legacy form
// there is a place for views in the identifiers.
func state(storages [][]byte, legacy bool) []byte {
	view := ""
	if legacy {
		view = "N"
	}
	p := NewPickle(2).Op("}(")
	for i, s := range storages {
		key := strconv.Itoa(i)
		p.Text("tensor"+key).Global("torch._utils", "_rebuild_tensor_v2").Op("((").Text("storage").
			Global("torch", "ByteStorage").Text(key).Text("cpu").Int(int64(len(s))).Op(view + "tQK\x00K").
			Op(string([]byte{byte(len(s))})).Op("\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR")
	}
	return p.Op("u").Stop()
}

// DCPMetadata writes a .metadata of torch.distributed.checkpoint that names these files, in this order, with one item in
// each, which ends at the last of so many bytes.
func DCPMetadata(files []string, sizes []int64) []byte {
	p := NewPickle(4).Global("torch.distributed.checkpoint.metadata", "Metadata").Op(")\x81}(").
		Text("state_dict_metadata").Op("}").Text("planner_data").Op("}").Text("storage_data").Op("}")
	if len(files) > 0 {
		p.Op("(")
		for i, name := range files {
			p.Global("torch.distributed.checkpoint.metadata", "MetadataIndex").Op(")\x81}(").Text("fqn").Text("w" + strconv.Itoa(i)).
				Text("index").Int(int64(i)).Op("ub")
			half := sizes[i] / 2
			p.Global("torch.distributed.checkpoint.filesystem", "_StorageInfo").Op(")\x81}(").Text("relative_path").
				Text(name).Text("offset").Int(half).Text("length").Int(sizes[i] - half).Op("ub")
		}
		p.Op("u")
	}
	return p.Text("version").Text("1.0.0").Op("ub").Stop()
}

// DCPItem is one item of a distributed checkpoint, as torch.save writes it into a shard.
type DCPItem struct {
	Key  string
	Data []byte
	// Transforms are the names of what the bytes went through after torch.save.
	Transforms []string
}

// TorchNumber is what torch.save makes of a whole number, as it is or as a tensor of one element.
func TorchNumber(n int64, tensor bool) []byte {
	if !tensor {
		return Zip(Record{Name: "archive/data.pkl", Data: NewPickle(2).Int(n).Stop()}, Record{Name: "archive/version", Data: []byte("3\n")})
	}
	p := NewPickle(2).Global("torch._utils", "_rebuild_tensor_v2").Op("((").Text("storage").Global("torch", "IntStorage").
		Text("0").Text("cpu").Int(1).Op("tQK\x00))\x89ccollections\nOrderedDict\n)RtR")
	return Zip(Record{Name: "archive/data.pkl", Data: p.Stop()},
		Record{Name: "archive/data/0", Data: binary.LittleEndian.AppendUint32(nil, uint32(n))})
}

// DCP writes the .metadata of a distributed checkpoint with these items, and the one shard in which they lie. The keys are
// spelled out once, before their places are told, as torch does it.
func DCP(shard string, items ...DCPItem) (metadata, data []byte) {
	p := NewPickle(4).Global("torch.distributed.checkpoint.metadata", "Metadata").Op(")\x81}(").Text("state_dict_metadata").Op("}(")
	for i, item := range items {
		p.Text(item.Key).Op("q"+string([]byte{byte(i)})).
			Global("torch.distributed.checkpoint.metadata", "BytesStorageMetadata").Op(")\x81")
	}
	p.Op("u").Text("storage_data").Op("}(")
	for i, item := range items {
		p.Global("torch.distributed.checkpoint.metadata", "MetadataIndex").Op(")\x81}(").Text("fqn").Op("h" + string([]byte{byte(i)})).
			Text("index").Int(int64(i)).Op("ub")
		p.Global("torch.distributed.checkpoint.filesystem", "_StorageInfo").Op(")\x81}(").Text("relative_path").Text(shard).
			Text("offset").Int(int64(len(data))).Text("length").Int(int64(len(item.Data)))
		if len(item.Transforms) > 0 {
			p.Text("transform_descriptors").Op("]")
			for _, name := range item.Transforms {
				p.Text(name).Op("a")
			}
		}
		p.Op("ub")
		data = append(data, item.Data...)
	}
	return p.Op("uub").Stop(), data
}
