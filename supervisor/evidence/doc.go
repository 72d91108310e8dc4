// Package evidence looks, around a worker's life, at what the machine knows about its end: kills for memory in the
// container's cgroup, room in /dev/shm, GPU errors in the kernel's log. Whatever cannot be read is absent evidence,
// never an error.
package evidence
