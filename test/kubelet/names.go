package kubelet

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// The words that a pod's resolver appends to a name, as in a cluster's default namespace.
const (
	domain = "default.svc.cluster.local"
	search = domain + " svc.cluster.local cluster.local"
)

// nameServer is the cluster's: it knows services, and the pods that run behind them.
type nameServer struct {
	mu       sync.Mutex
	services map[string][]*Started
}

// serveNames serves names at the address until the test ends.
func serveNames(t testing.TB, address string) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", address+":53")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{services: map[string][]*Started{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		query := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			if reply := answer(query[:n], s.resolve); reply != nil {
				_, _ = conn.WriteTo(reply, from) // whoever asks, asks again
			}
		}
	})
	t.Cleanup(func() {
		conn.Close()
		serving.Wait()
	})
	return s
}

func (s *nameServer) set(name string, pods []*Started) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.services[name] = pods; len(pods) == 0 {
		delete(s.services, name)
	}
}

// resolve is the addresses of the running pods behind a full name, and whether there is such a name at all.
func (s *nameServer) resolve(full string) (addresses []netip.Addr, found bool) {
	name, ok := strings.CutSuffix(full, "."+domain)
	if !ok {
		return nil, false
	}
	s.mu.Lock()
	pods := s.services[name]
	s.mu.Unlock()
	for _, p := range pods {
		if p.Status().Phase == Running {
			addresses = append(addresses, p.address)
		}
	}
	return addresses, len(addresses) > 0
}

// answer is the reply to a DNS query (RFC 1035), or nil when it is not one. Only the names' IPv4 addresses are told,
// and nothing is to be remembered.
func answer(query []byte, resolve func(name string) ([]netip.Addr, bool)) []byte {
	const header, response, authoritative, recursive, noSuchName = 12, 0x8000, 0x0400, 0x0080, 3
	if len(query) < header || query[2]&0x80 != 0 {
		return nil
	}
	var labels []string
	at := header
	for {
		if at >= len(query) {
			return nil
		}
		n := int(query[at])
		if at++; n == 0 {
			break
		}
		if n > 63 || at+n > len(query) {
			return nil
		}
		labels = append(labels, string(query[at:at+n]))
		at += n
	}
	if at+4 > len(query) {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[at:])
	addresses, found := resolve(strings.ToLower(strings.Join(labels, ".")))
	const typeA, classIN = 1, 1
	if kind != typeA {
		addresses = nil
	}
	flags := response | authoritative | recursive | binary.BigEndian.Uint16(query[2:])&0x0100
	if !found {
		flags |= noSuchName
	}
	reply := append([]byte(nil), query[:2]...)
	for _, v := range []uint16{flags, 1, uint16(len(addresses)), 0, 0} {
		reply = binary.BigEndian.AppendUint16(reply, v)
	}
	reply = append(reply, query[header:at+4]...)
	for _, a := range addresses {
		for _, v := range []uint16{0xc000 | header, typeA, classIN, 0, 0, 4} { // the name of the question; lifetime 0; length
			reply = binary.BigEndian.AppendUint16(reply, v)
		}
		reply = append(reply, a.AsSlice()...)
	}
	return reply
}
