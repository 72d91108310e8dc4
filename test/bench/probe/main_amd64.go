// Probe is the worker of the benchmarks: it says when its first instruction ran. It is linked with entry as its entry
// point, so none of the Go runtime ever runs and the kernel maps no more than a page or two of it.
//
//	probe             says so and ends
//	probe x           says so and waits for a signal
//	probe x x         leaves a hundred orphans, each of which says so and waits for the end of its standard input
//	probe x x FIFO    says so there and waits for a signal
//	probe x x FIFO x  says so there and ends
//
// To say so is to write 24 bytes to standard output, or to the FIFO where the output of several probes is not passed on
// as it is: CLOCK_MONOTONIC in seconds and nanoseconds, and the process ID.
package main

// entry is in assembly.
func entry()

func main() { entry() } // so that the linker keeps it
