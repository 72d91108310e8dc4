package exitcodes

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// saysErrno is how the number of an error begins.
var saysErrno = phrases.list("os { code", "error, code: ", "(1", "(2", "(3", "(4", "(5", "(6", "(7", "(os error", "name: e", "rrno", "[e1", "winerror ", "wsa", "error: 1", "code: 1", "code 1")

var errnoPattern = lazy(`\[Errno (-?\d+)\]|\[(\d+)\]$|\bOs \{ code: (\d+)|\(errno:? (\d+)|\(os error (\d+)\)|\berrno["' =:]+(\d+)|\[E(1\d\d)\][A-Z]|Errno::?(\d+)|code: -(\d+), name: E|\((\d+), '[A-Z]|(?i:socket (?:recv|send|connect) error, code): (\d+)`)

// errnoFamily reads an errno: a network or a file server that is away comes back; a disk that is full, a path and a
// permission stay as they are.
func errnoFamily(class, _ string, message []byte, h heard) family {
	if class == "pycurl.error" {
		return curlFamily(message)
	}
	if !h.any(saysErrno) {
		if h.any(saysErrnoName) {
			return errnoMeans(namedErrno(message))
		}
		return family{}
	}
	if n := windowsErrno(message); n != 0 {
		return errnoMeans(n)
	}
	m := errnoPattern().FindSubmatch(message)
	if m == nil {
		return errnoMeans(namedErrno(message))
	}
	n, _ := strconv.Atoi(string(bytes.Join(m[1:], nil)))
	return errnoMeans(n)
}

func errnoMeans(n int) family {
	switch n {
	case 32, 102, 103, 104, 108: // EPIPE, ENETRESET, ECONNABORTED, ECONNRESET, ESHUTDOWN
		return transient("errno", ReasonPeerLost, RoleCascade)
	case 100, 101, 111, 112, 113, 64, 67: // ENETDOWN, ENETUNREACH, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENONET, ENOLINK
		return transient("errno", ReasonPeerUnreachable, RoleSuspect)
	case 62, 110: // ETIME, ETIMEDOUT
		return transient("errno", "Timeout", RoleSuspect)
	case -2, -3, -5: // EAI_NONAME, EAI_AGAIN, EAI_NODATA
		return transient("errno", "NameResolution", RoleSuspect)
	case 4, 11, 16, 23, 26, 35, 37, 105: // EINTR, EAGAIN, EBUSY, ENFILE, ETXTBSY, EDEADLK, ENOLCK, ENOBUFS
		return transient("errno", "ResourceBusy", RoleRoot)
	case 5, 6, 19, 52, 61, 70, 71, 74, 107, 117, 121, 130, 131, 133, // EIO, ENXIO, ENODEV, EBADE, ENODATA, ECOMM, EPROTO, EBADMSG, ENOTCONN, EUCLEAN, EREMOTEIO, EOWNERDEAD, ENOTRECOVERABLE, EHWPOISON
		14,                                // EFAULT, a file server's: no library passes a bad address
		512, 513, 514, 521, 523, 526, 528: // the kernel's own between itself and NFS, such as ERESTARTSYS and EJUKEBOX
		return transient("errno", "InputOutputError", RoleRoot)
	case 116: // ESTALE
		return transient("errno", "StaleFileHandle", RoleRoot)
	case 98: // EADDRINUSE
		return transient("errno", "AddressInUse", RoleRoot)
	case 2: // ENOENT
		return deterministic("errno", "FileNotFound").afterProgress()
	case 1, 13: // EPERM, EACCES
		return deterministic("errno", "PermissionDenied").afterProgress()
	case 28, 122: // ENOSPC, EDQUOT
		return deterministic("errno", "DiskFull")
	case 17, 20, 21, 22, 27, 30, 36, 38, 39, 40, 95:
		return deterministic("errno", ReasonError)
	}
	return family{}
}

// errnoNames are those that pass, as Node.js, Julia, libuv and many programs in C print them.
var errnoNames = map[string]int{"EINTR": 4, "EIO": 5, "ENXIO": 6, "EAGAIN": 11, "EBUSY": 16, "ENODEV": 19, "ENFILE": 23, "ETXTBSY": 26, "EPIPE": 32,
	"EDEADLK": 35, "EDEADLOCK": 35, "ENOLCK": 37, "EBADE": 52, "ETIME": 62, "ENONET": 64, "ENOLINK": 67, "ECOMM": 70, "EPROTO": 71, "EBADMSG": 74,
	"EADDRINUSE": 98, "ENETDOWN": 100, "ENETUNREACH": 101, "ENETRESET": 102, "ECONNABORTED": 103, "ECONNRESET": 104, "ENOBUFS": 105,
	"ENOTCONN": 107, "ESHUTDOWN": 108, "ETIMEDOUT": 110, "ECONNREFUSED": 111, "EHOSTDOWN": 112, "EHOSTUNREACH": 113, "ESTALE": 116, "EUCLEAN": 117,
	"EREMOTEIO": 121, "EOWNERDEAD": 130, "ENOTRECOVERABLE": 131, "EHWPOISON": 133}

var saysErrnoName = phrases.list(slices.Collect(func(yield func(string) bool) {
	for name := range errnoNames {
		if !yield(strings.ToLower(name)) {
			return
		}
	}
})...)

var errnoNamePattern = lazy(`(?:^|[\s:('"=\[,])(E[A-Z]{2,14})(?:$|[\s:)'"\],.])`)

// namedErrno is the number of an error that a message names in capitals.
func namedErrno(message []byte) int {
	if m := errnoNamePattern().FindSubmatch(message); m != nil {
		return errnoNames[string(m[1])]
	}
	return 0
}
