package file

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// maxScalar bounds an array of numpy that may be a single number, with its header.
const maxScalar = 512

// npyMagic begins a file of one array (numpy/lib/format.py).
const npyMagic = "\x93NUMPY"

// IsNpy reports whether a file begins as one of numpy's single arrays does, perhaps behind a line of JSON (Equinox).
func IsNpy(head []byte) bool {
	return bytes.HasPrefix(head, []byte(npyMagic)) || bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte("\n"+npyMagic))
}

// Npz looks at the arrays in a zip of numpy.savez: their names, and the values of those that are one whole number. ok says
// that there is nothing but arrays.
func Npz(z *Zip) (names []string, numbers map[string]int64, ok bool, err error) {
	ok, numbers = z.Entries > 0, make(map[string]int64)
	err = z.Each(func(e Entry) error {
		name, array := strings.CutSuffix(e.Name, ".npy")
		if ok = ok && array; !array || len(names) >= maxNames {
			return nil
		}
		names = append(names, name)
		if e.Size > maxScalar || len(numbers) >= 1024 {
			return nil
		}
		data, err := z.small(e)
		if err != nil {
			return err
		}
		if n, is := npyNumber(data); is {
			numbers[name] = n
		}
		return nil
	})
	return names, numbers, ok, err
}

// small reads an entry of at most maxScalar bytes.
func (z *Zip) small(e Entry) ([]byte, error) {
	from, end, err := z.data(e)
	if err != nil {
		return nil, err
	}
	packed := make([]byte, min(end-from, 2*maxScalar))
	if err := readAt(z.r, packed, from); err != nil {
		return nil, err
	}
	if e.Method == 0 {
		return packed, nil
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxScalar))
	if err != nil {
		return nil, problem.New(problem.BadZip, "%q cannot be unpacked: %v", e.Name, err)
	}
	return data, nil
}

// npyNumber is the value of an array that is one whole number.
func npyNumber(data []byte) (n int64, ok bool) {
	if !bytes.HasPrefix(data, []byte(npyMagic)) || len(data) < 12 {
		return 0, false
	}
	start, length := 10, int(binary.LittleEndian.Uint16(data[8:]))
	if data[6] > 1 {
		start, length = 12, int(binary.LittleEndian.Uint32(data[8:]))
	}
	if length < 0 || start+length > len(data) {
		return 0, false
	}
	header, body := string(data[start:start+length]), data[start+length:]
	if !strings.Contains(header, "'shape': ()") && !strings.Contains(header, "'shape': (1,)") {
		return 0, false
	}
	signed := strings.Contains(header, "'<i") || strings.Contains(header, "'|i")
	if !signed && !strings.Contains(header, "'<u") && !strings.Contains(header, "'|u") || len(body) == 0 || len(body) > 8 {
		return 0, false
	}
	for i := len(body) - 1; i >= 0; i-- {
		n = n<<8 | int64(body[i])
	}
	if shift := 64 - 8*len(body); signed {
		n = n << shift >> shift
	}
	return n, n >= 0
}
