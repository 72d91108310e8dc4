// Package preflight judges a machine before it trains: what nvidia-smi, the kernel's log, the network, the directories
// and a command of one's own say about it.
//
// It is pure. What was read comes in as plain values ([Output] is what a child process has said), and a [Result] says
// what it means. A machine is [Sick] only if training would fail on it and might succeed on another one. What cannot be
// read never makes it sick: that is logged, and the node continues.
package preflight
