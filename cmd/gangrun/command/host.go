package command

import (
	"errors"
	"strings"
)

// parseHost reads the name of the machine, which is that of a key in the store.
func (o *options) parseHost(s string) error {
	if s == "" || len(s) > 253 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errors.New("want the name of a machine, of at most 253 bytes and without spaces")
	}
	o.host = s
	return nil
}
