package evidence

import "golang.org/x/sys/unix"

// Space is the size of a file system and the room left in it, in bytes.
type Space struct{ Size, Free uint64 }

// SharedMemory is the room in /dev/shm, where data loaders and NCCL keep what processes share. ok is false when there
// is no such file system.
func SharedMemory() (s Space, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil {
		return Space{}, false
	}
	return Space{Size: st.Blocks * uint64(st.Bsize), Free: st.Bavail * uint64(st.Bsize)}, true
}

// Full reports that less than a hundredth is left: a process that touches a new page there dies of SIGBUS.
func (s Space) Full() bool { return s.Size > 0 && s.Free < s.Size/100+1 }
