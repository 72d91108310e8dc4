package exitcodes

import (
	"bytes"
	"strconv"
)

// saysErrno is how the number of an error begins.
var saysErrno = phrases.list("os { code", "error, code: ", "(1", "(3", "(5", "(7", "(os error", "name: e", "rrno", "winerror ")

var errnoPattern = lazy(`\[Errno (-?\d+)\]|\bOs \{ code: (\d+)|\(errno:? (\d+)|\(os error (\d+)\)|\berrno[ =:]+(\d+)|Errno::?(\d+)|code: -(\d+), name: E|\((\d+), '[A-Z]|(?i:socket (?:recv|send|connect) error, code): (\d+)`)

// errnoFamily reads an errno: a network or a file server that is away comes back; a disk that is full, a path and a
// permission stay as they are.
func errnoFamily(class, _ string, message []byte, h heard) family {
	if class == "pycurl.error" {
		return curlFamily(message)
	}
	if !h.any(saysErrno) {
		return family{}
	}
	if n := windowsErrno(message); n != 0 {
		return errnoMeans(n)
	}
	m := errnoPattern().FindSubmatch(message)
	if m == nil {
		return family{}
	}
	n, _ := strconv.Atoi(string(bytes.Join(m[1:], nil)))
	return errnoMeans(n)
}

func errnoMeans(n int) family {
	switch n {
	case 32, 102, 103, 104, 108: // EPIPE, ENETRESET, ECONNABORTED, ECONNRESET, ESHUTDOWN
		return transient("errno", ReasonPeerLost, RoleCascade)
	case 100, 101, 111, 112, 113, 64: // ENETDOWN, ENETUNREACH, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENONET
		return transient("errno", ReasonPeerUnreachable, RoleSuspect)
	case 62, 110: // ETIME, ETIMEDOUT
		return transient("errno", "Timeout", RoleSuspect)
	case -2, -3, -5: // EAI_NONAME, EAI_AGAIN, EAI_NODATA
		return transient("errno", "NameResolution", RoleSuspect)
	case 4, 11, 16, 23, 26, 35, 37, 105: // EINTR, EAGAIN, EBUSY, ENFILE, ETXTBSY, EDEADLK, ENOLCK, ENOBUFS
		return transient("errno", "ResourceBusy", RoleRoot)
	case 5, 6, 19, 52, 61, 70, 71, 74, 107, 117, 121, // EIO, ENXIO, ENODEV, EBADE, ENODATA, ECOMM, EPROTO, EBADMSG, ENOTCONN, EUCLEAN, EREMOTEIO
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
