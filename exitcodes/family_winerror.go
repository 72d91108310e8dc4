package exitcodes

import (
	"bytes"
	"strconv"
)

var windowsPattern = lazy(`\[WinError (\d+)\]|\[Errno (1[01]0\d\d)\]|\b(?:errno|os error|error code:?|error:|Error\(|^\()[ =:]{0,2}(1[01]0\d\d)\b|^\((1[01]0\d\d), '`)

// windowsErrno translates the number of an error of Windows into that of Linux with the same meaning: a path under WSL, a share
// or a client there may have it. 0 where there is none.
func windowsErrno(message []byte) int {
	m := windowsPattern().FindSubmatch(message)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(bytes.Join(m[1:], nil)))
	switch n {
	case 10048, 10050, 10051, 10052, 10053, 10054, 10055, 10058, 10060, 10061, 10064, 10065: // of sockets, in the order of Linux's
		return map[int]int{10048: 98, 10050: 100, 10051: 101, 10052: 102, 10053: 103, 10054: 104, 10055: 105, 10058: 108, 10060: 110,
			10061: 111, 10064: 112, 10065: 113}[n]
	case 10013: // a port that another has, or that the system keeps
		return 98
	case 10057:
		return 107
	case 995, 1236: // what was taken back under way
		return 103
	case 11001, 11002, 11004: // a name that was not found
		return -2
	case 109, 232, 233: // the other end of a pipe is gone
		return 32
	case 53, 1225, 1231: // a share, a port or a network that is not reached
		return 101
	case 21, 23, 59, 64, 1117: // a device or a share that does not answer
		return 5
	case 121: // a semaphore, by which drivers wait
		return 110
	case 32, 33: // a file that another process has locked
		return 16
	case 8, 14, 1450, 1455: // memory that other processes hold, too
		return 11
	case 2, 3:
		return 2
	case 5:
		return 13
	case 39, 112:
		return 28
	case 67, 80, 87, 123, 126, 127, 183, 193, 206, 1114, 1314: // names, libraries, rights
		return 22
	}
	return 0
}
