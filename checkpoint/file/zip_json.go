package file

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
)

// maxZipJSON bounds an entry of JSON that is read to learn how far training is.
const maxZipJSON = 4 << 20

// JSONNumbers are the whole numbers in the uppermost dict of an entry that is JSON; none where it is something else. The error
// is one of reading.
func (z *Zip) JSONNumbers(e Entry) (map[string]int64, error) {
	if e.Size > maxZipJSON || e.Packed > maxZipJSON || e.Method != 0 && e.Method != 8 {
		return nil, nil
	}
	from, end, err := z.data(e)
	if err != nil {
		return nil, err
	}
	data := make([]byte, end-from)
	if err := readAt(z.r, data, from); err != nil {
		return nil, err
	}
	if e.Method == 8 {
		if data, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxZipJSON)); err != nil {
			return nil, nil //nolint:nilerr // what it is made of is checked elsewhere
		}
	}
	var fields map[string]json.RawMessage
	if !bytes.HasPrefix(data, []byte("{")) || json.Unmarshal(data, &fields) != nil {
		return nil, nil
	}
	numbers := map[string]int64{}
	for key, text := range fields {
		var n int64
		if json.Unmarshal(text, &n) == nil && !bytes.Equal(text, []byte("null")) {
			numbers[key] = n
		}
	}
	return numbers, nil
}
