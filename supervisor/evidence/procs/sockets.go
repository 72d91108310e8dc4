package procs

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Listener is a TCP socket that waits for connections.
type Listener struct {
	Address netip.AddrPort
	Inode   uint64 // which /proc/PID/fd shows of those that hold it
}

// The bounds of what is read to find who listens.
const (
	mostSockets = 4 << 20 // bytes of a table, which begins with those that listen
	mostFiles   = 1 << 14 // open files of a process
)

// Listeners are those on a port, in the network namespace of this process. The error is that of reading /proc/net.
func (t Table) Listeners(port uint16) (list []Listener, err error) {
	for _, name := range []string{"tcp", "tcp6"} {
		file, err := os.Open(t.root + "/net/" + name)
		if os.IsNotExist(err) { // a kernel without IPv6
			continue
		} else if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(io.LimitReader(file, mostSockets))
		for lines.Scan() {
			if l, ok := parseListener(lines.Text()); ok && l.Address.Port() == port {
				list = append(list, l)
			}
		}
		file.Close()
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// parseListener reads a line of proc_net_tcp(5), if it is of a socket that listens.
func parseListener(line string) (l Listener, ok bool) {
	const listens = "0A"
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listens {
		return l, false
	}
	address, port, _ := strings.Cut(fields[1], ":")
	ip, err := hex.DecodeString(address)
	if err != nil || len(ip)%4 != 0 {
		return l, false
	}
	for i := 0; i < len(ip); i += 4 { // the kernel prints words in the order of the machine
		binary.BigEndian.PutUint32(ip[i:], binary.NativeEndian.Uint32(ip[i:]))
	}
	at, ok := netip.AddrFromSlice(ip)
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil || !ok {
		return l, false
	}
	l.Inode, err = strconv.ParseUint(fields[9], 10, 64)
	l.Address = netip.AddrPortFrom(at.Unmap(), uint16(number))
	return l, err == nil && l.Inode != 0
}

// Sockets are the inodes of those that the tree below pid, with it, holds, of its uppermost processes, at most so many.
// Those of processes that may not be inspected are missing.
func (t Table) Sockets(pid, most int) map[uint64]bool {
	inodes := map[uint64]bool{}
	tree := t.Tree(pid)
	for _, p := range tree[:min(len(tree), most)] {
		path := fmt.Sprintf("%s/%d/fd", t.root, p.PID)
		dir, err := os.Open(path)
		if err != nil {
			continue
		}
		names, _ := dir.Readdirnames(mostFiles)
		dir.Close()
		for _, name := range names {
			target, err := os.Readlink(path + "/" + name)
			if text, found := strings.CutPrefix(target, "socket:["); err == nil && found {
				if inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64); err == nil {
					inodes[inode] = true
				}
			}
		}
	}
	return inodes
}
