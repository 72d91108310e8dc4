// Package evidence reads what the machine knows about a worker's end: kills for memory in the container's cgroup, room in
// /dev/shm, GPU errors in the kernel's log. What cannot be read is missing evidence, never an error.
package evidence
