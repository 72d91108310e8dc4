// Package exitcodes says what the end of a training process means: whether it is worth a retry, why, and with which
// code and termination message gangrun tells the world.
//
// It holds the table of codes, the evidence and how it is weighed (Judge, Cause), the rules that read logs, what
// torchrun reports about its workers, and the termination message in both directions. It is pure: no files, no
// processes, no clock; an operator may import it to read the message of a container.
package exitcodes
