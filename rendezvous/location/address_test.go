package location

import (
	"net"
	"testing"
)

func TestLocalAddressFor(t *testing.T) {
	if a, err := LocalAddressFor("127.0.0.1", 1); a != "127.0.0.1" || err != nil {
		t.Errorf("%s, %v", a, err)
	}
	// A name that does not resolve, yet: another name of this machine would be no better for the others.
	a, err := LocalAddressFor("no-such-host.invalid", 1)
	if ip := net.ParseIP(a); err == nil && (ip == nil || !ip.IsGlobalUnicast()) {
		t.Errorf("%q is no address at which others reach this machine", a)
	}
}
