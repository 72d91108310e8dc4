// Package termlog writes the termination message where a runtime looks for it, and keeps a copy on a volume.
//
// A container's termination log is a file that the kubelet has bind-mounted into the container and reads once the
// container has ended, however it ended. So what is in it has to be whole at every moment: the program may be killed
// between any two instructions, and with memory.oom.group=1 it is killed together with the worker whose death it was
// about to explain. A Log therefore overwrites the file in place with one write of constant length. A rename, the
// usual way to replace a file, fails with EBUSY on a mount point, and a file that is emptied first can be left empty.
package termlog
