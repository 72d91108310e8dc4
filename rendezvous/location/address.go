package location

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// LocalAddressFor returns the address of this machine by which it reaches the host, for others to reach it by. Nothing is sent.
// Where the host's name does not resolve, as that of a pod for some time after its start, it is the first address of this
// machine that is not for itself alone.
func LocalAddressFor(host string, port int) (string, error) {
	c, err := net.Dial("udp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return ownAddress()
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String(), nil
}

func ownAddress() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("this machine's addresses: %w", err)
	}
	v6 := ""
	for _, a := range addresses {
		n, isNet := a.(*net.IPNet)
		switch {
		case !isNet || !n.IP.IsGlobalUnicast():
		case n.IP.To4() != nil:
			return n.IP.String(), nil
		case v6 == "":
			v6 = n.IP.String()
		}
	}
	if v6 == "" {
		return "", errors.New("this machine has no address by which others could reach it")
	}
	return v6, nil
}
