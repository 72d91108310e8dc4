package file

import (
	"errors"
	"io"
	"strings"
)

// maxNames bounds the names of tensors that are handed on.
const maxNames = 1 << 17

// SafetensorsNames reads the header of a safetensors file: it calls visit with the name of each tensor, and returns the
// texts of its metadata, those of at most 64 keys.
func SafetensorsNames(r io.ReaderAt, size int64, visit func(name string)) (metadata map[string]string, err error) {
	start, err := SafetensorsHeader(r, size)
	if err != nil {
		return nil, err
	}
	s := &scanner{w: newWindow(r, 8, start)}
	metadata = make(map[string]string)
	names := 0
	err = s.object(func(name string, _ bool) error {
		if name != "__metadata__" {
			if names++; names <= maxNames {
				visit(name)
			}
			return s.skip()
		}
		return s.object(func(key string, _ bool) error {
			if s.next() != '"' || len(metadata) == 64 {
				return s.skip()
			}
			text, _, err := s.string()
			metadata[strings.Clone(key)] = strings.Clone(text)
			return err
		})
	})
	if err == errShort || errors.Is(err, errJSON) {
		return nil, ErrNoShape
	}
	return metadata, err
}
