// Command gangrun runs a distributed training job from inside its containers. See the README.
package main

import (
	"os"
	"runtime"

	"github.com/gangrun/gangrun/cmd/gangrun/command"
	"github.com/gangrun/gangrun/exitcodes/crash"
)

// The main goroutine has the main thread to itself, and only waits on it. For a signal to the process the kernel wakes the
// main thread where that does not block it (complete_signal in kernel/signal.c), even when it sleeps uninterruptibly on a
// file server that does not answer: were it any goroutine's, SIGTERM would go unnoticed until the server answers.
func init() { runtime.LockOSThread() }

func main() {
	code := make(chan int)
	crash.Go(func() { code <- command.Run(os.Args) })
	os.Exit(<-code)
}
