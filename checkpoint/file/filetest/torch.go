package filetest

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
)

// Record is one file in a zip.
type Record struct {
	Name  string
	Data  []byte
	NoCRC bool
}

// TorchRecords are what torch.save puts into a zip for a dictionary of such storages, in its order.
func TorchRecords(stem string, storages ...[]byte) []Record {
	records := []Record{
		{Name: stem + "/data.pkl", Data: state(storages, false)},
		{Name: stem + "/.format_version", Data: []byte("1")},
		{Name: stem + "/.storage_alignment", Data: []byte("64")},
		{Name: stem + "/byteorder", Data: []byte("little")},
	}
	for i, s := range storages {
		records = append(records, Record{Name: stem + "/data/" + strconv.Itoa(i), Data: s})
	}
	return append(records, Record{Name: stem + "/version", Data: []byte("3\n")},
		Record{Name: stem + "/.data/serialization_id", Data: []byte("0636457737946401051300000013542063385434")})
}

// Torch is a file of torch.save with these storages.
func Torch(storages ...[]byte) []byte { return Zip(TorchRecords("archive", storages...)...) }

// Zip writes records as torch does (caffe2/serialize/inline_container.cc): stored, each beginning at a multiple of 64
// bytes with its sizes behind it, and the directory with a ZIP64 record.
func Zip(records ...Record) []byte {
	var b, directory []byte
	le := binary.LittleEndian
	for _, r := range records {
		sum := crc32.ChecksumIEEE(r.Data)
		if r.NoCRC {
			sum = 0
		}
		at := len(b)
		padding := 4 + (64-(at+30+len(r.Name)+4)%64)%64
		b = append(b, "PK\x03\x04\x00\x00\x08\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
		b = le.AppendUint16(b, uint16(len(r.Name)))
		b = le.AppendUint16(b, uint16(padding))
		b = append(append(b, r.Name...), "FB"...)
		b = le.AppendUint16(b, uint16(padding-4))
		for range padding - 4 {
			b = append(b, 'Z')
		}
		b = append(append(b, r.Data...), "PK\x07\x08"...)
		b = le.AppendUint32(b, sum)
		b = le.AppendUint32(b, uint32(len(r.Data)))
		b = le.AppendUint32(b, uint32(len(r.Data)))

		directory = append(directory, "PK\x01\x02\x00\x00\x00\x00\x08\x08\x00\x00\x00\x00\x00\x00"...)
		directory = le.AppendUint32(directory, sum)
		directory = le.AppendUint32(directory, uint32(len(r.Data)))
		directory = le.AppendUint32(directory, uint32(len(r.Data)))
		directory = le.AppendUint16(directory, uint16(len(r.Name)))
		directory = append(directory, make([]byte, 12)...)
		directory = le.AppendUint32(directory, uint32(at))
		directory = append(directory, r.Name...)
	}
	at, size, n := uint64(len(b)), uint64(len(directory)), uint64(len(records))
	b = append(b, directory...)
	end := uint64(len(b))
	b = append(b, "PK\x06\x06\x2c\x00\x00\x00\x00\x00\x00\x00\x1e\x03\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for _, v := range []uint64{n, n, size, at} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint64(append(b, "PK\x06\x07\x00\x00\x00\x00"...), end)
	b = append(b, "\x01\x00\x00\x00PK\x05\x06\x00\x00\x00\x00"...)
	b = le.AppendUint16(b, uint16(n))
	b = le.AppendUint16(b, uint16(n))
	b = le.AppendUint32(b, uint32(size))
	b = le.AppendUint32(b, uint32(at))
	return append(b, 0, 0)
}

// TorchLegacy is a file of torch.save with these storages in the form from before torch 1.6.
func TorchLegacy(storages ...[]byte) []byte {
	b := NewPickle(2).Op("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").Stop()
	b = append(b, NewPickle(2).Op("M\xe9\x03").Stop()...)
	b = append(b, NewPickle(2).Op("}(").Text("protocol_version").Op("M\xe9\x03").Text("little_endian").Op("\x88u").Stop()...)
	b = append(b, state(storages, true)...)
	keys := NewPickle(2).Op("](")
	for i := range storages {
		keys.Text(strconv.Itoa(i))
	}
	b = append(b, keys.Op("e").Stop()...)
	for _, s := range storages {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
	}
	return b
}
