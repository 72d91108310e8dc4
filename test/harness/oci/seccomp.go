package oci

import "strings"

// seccomp is what Docker and containerd allow a container that has no capabilities, if nobody says otherwise, of the
// calls of 64-bit machines. A kubelet asks for it by RuntimeDefault.
func seccomp() object {
	allow := func(names string, args ...object) object {
		o := object{"names": strings.Fields(names), "action": "SCMP_ACT_ALLOW"}
		if len(args) > 0 {
			o["args"] = args
		}
		return o
	}
	compare := func(index int, op string, value, valueTwo uint64) object {
		return object{"index": index, "op": op, "value": value, "valueTwo": valueTwo}
	}
	const (
		namespaces = 0x7E020000 // CLONE_NEW...
		vsock      = 40
		noSuchCall = 38
	)
	calls := []object{
		allow(allowed),
		allow("clone", compare(0, "SCMP_CMP_MASKED_EQ", namespaces, 0)),
		// Whose flags are in memory, where no filter can look: the C library then does it with clone.
		{"names": []string{"clone3"}, "action": "SCMP_ACT_ERRNO", "errnoRet": noSuchCall},
		allow("socket", compare(0, "SCMP_CMP_NE", vsock, 0)),
	}
	for _, persona := range []uint64{0, 0x8, 0x20000, 0x20008, 0xffffffff} {
		calls = append(calls, allow("personality", compare(0, "SCMP_CMP_EQ", persona, 0)))
	}
	return object{
		"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 1, // EPERM
		"architectures": []string{"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"}, "syscalls": calls,
	}
}

const allowed = `
accept accept4 access adjtimex alarm bind brk cachestat capget capset chdir chmod chown clock_adjtime clock_getres
clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1
epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2
fadvise64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr
flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue futex_wait futex_waitv
futex_wake futimesat get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid geteuid getgid
getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit
getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr inotify_add_watch inotify_init
inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit ioctl ioprio_get
ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat listen
listxattr llistxattr lremovexattr lseek lsetxattr lstat madvise map_shadow_stack membarrier memfd_create memfd_secret
mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mprotect mq_getsetattr mq_notify mq_open
mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock munlockall munmap
name_to_handle_at nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc
pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 process_mrelease process_vm_readv
process_vm_writev pselect6 ptrace pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg
recvmsg remap_file_pages removexattr rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending
rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max
sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp select semctl semget semop
semtimedop sendfile sendmmsg sendmsg sendto set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid
setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid
setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 socketpair splice stat statfs statx symlink
symlinkat sync sync_file_range syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask uname unlink unlinkat utime
utimensat utimes vfork wait4 waitid write writev arch_prctl modify_ldt`
