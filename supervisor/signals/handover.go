package signals

import (
	"os"
	"syscall"
)

// handed is the variable by which signals that have come already survive an exec: one character for each, '@' plus the
// signal's number. (No package is needed to read that, which would have to be initialised before this one.)
const handed = "GANGRUN_HANDED_SIGNALS"

// HandOver returns a variable for the environment of a gangrun that takes the place of this process: it holds the
// signals that have come and that nobody has asked for yet. Nothing is returned when none has.
func HandOver() []string {
	<-rest
	var list []byte
	for {
		select {
		case sig := <-incoming:
			list = append(list, '@'+byte(sig.(syscall.Signal)))
			continue
		default:
		}
		if list == nil {
			return nil
		}
		return []string{handed + "=" + string(list)}
	}
}

// takeOver puts the signals that were handed over into the channel.
func takeOver(ch chan<- os.Signal) {
	list := os.Getenv(handed)
	if list == "" {
		return
	}
	_ = os.Unsetenv(handed) // it is not for the workers
	for i := range min(len(list), cap(ch)) {
		if sig := syscall.Signal(list[i]) - '@'; Passes(sig) {
			ch <- sig
		}
	}
}
