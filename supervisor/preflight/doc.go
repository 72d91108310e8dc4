// Package preflight judges a machine before it trains: what nvidia-smi, the kernel's log, the network, the directories
// and a command of one's own say about it.
//
// It is pure. What was read comes in as plain values ([Output] is what a child process has said), and a [Result] says
// what it means. Only what shows that training would fail on this machine and might succeed on another one is [Sick].
// What cannot be read is never that: it is said, and the node continues.
package preflight
