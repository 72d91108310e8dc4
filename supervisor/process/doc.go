// Package process starts the worker processes and does the duties of an init, whether gangrun is PID 1 or not.
//
// It promises:
//   - one owner of wait4: every child and every orphan is reaped here, at once, and no worker's status is lost or
//     stolen; nothing else in the program may wait for a child;
//   - a signal is sent to a worker only while its process ID is certainly its own;
//   - what is left of a worker's process tree is found by ancestry, never by name;
//   - workers die with gangrun (parent-death signal, or the end of the PID namespace when gangrun is PID 1).
package process
