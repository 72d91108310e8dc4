package file

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
)

// legacyState is a legacy file of {"w": a tensor of three numbers of a class, "step": a tensor of one whole number}. Its
// storages lie in the other order than they are named in.
func legacyState(class string, element int, step int64) []byte {
	b := filetest.TorchLegacy()
	b = b[:len(b)-len(filetest.NewPickle(2).Op("](").Op("e").Stop())]
	b = b[:bytes.LastIndex(b, []byte("\x80\x02"))] // the first three pickles
	tensor := func(p *filetest.Pickle, class, key string, count int64) {
		p.Global("torch._utils", "_rebuild_tensor_v2").Op("((").Text("storage").Global("torch", class).Text(key).Text("cpu").
			Int(count).Op("NtQK\x00")
		if count == 1 {
			p.Op(")")
		} else {
			p.Op("(").Int(count).Op("t")
		}
		p.Op(")\x89ccollections\nOrderedDict\n)RtR")
	}
	state := filetest.NewPickle(2).Op("}(").Text("step")
	tensor(state, "LongStorage", "77", 1)
	state.Text("w")
	tensor(state, class, "8", 3)
	b = append(b, state.Op("u").Stop()...)
	b = append(b, filetest.NewPickle(2).Op("](").Text("8").Text("77").Op("e").Stop()...)
	b = append(binary.LittleEndian.AppendUint64(b, 3), make([]byte, 3*element)...)
	b = binary.LittleEndian.AppendUint64(b, 1)
	return binary.LittleEndian.AppendUint64(b, uint64(step))
}

func TestTorchLegacyNumber(t *testing.T) {
	whole := legacyState("FloatStorage", 4, 300)
	if err := TorchLegacyEnd(bytes.NewReader(whole), int64(len(whole))); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		data  []byte
		known bool
	}{
		"a step behind another storage":           {whole, true},
		"behind one of a class that nobody knows": {legacyState("Float4Storage", 4, 300), false},
		"cut within the step":                     {whole[:len(whole)-1], false},
		"cut within the storage before":           {whole[:len(whole)-20], false},
	} {
		s, err := TorchShape(bytes.NewReader(tt.data), int64(len(tt.data)))
		if err != nil {
			t.Fatal(name, err)
		}
		n, ok, err := s.Get("step").Whole()
		if err != nil || ok != tt.known || ok && n != 300 {
			t.Errorf("%s: %d, %t, %v", name, n, ok, err)
		}
	}
}
