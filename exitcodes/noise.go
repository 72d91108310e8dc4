package exitcodes

import "bytes"

// isIgnoredHeading reports whether the line introduces an exception of which the program did not end: one in a
// destructor, in a thread, in an exit handler, in a task that nobody waits for, in the logger itself.
func isIgnoredHeading(l *line) bool {
	return l.says("Exception ignored ", "Exception in thread ", "Error in atexit", "Exception in atexit", "--- Logging error ---",
		"Exception in callback ", "Error in sys.excepthook", "Error in sys.exitfunc", "Exception in Tkinter",
		"Task exception was never retrieved", "Future exception was never retrieved", "Unhandled exception in thread",
		"Error while calling ", "Exception caught by weakref", "object address  :")
}

// isTeardown reports whether an exception is one that only a dying interpreter raises.
func isTeardown(l *line) bool {
	return l.contains("sys.meta_path is None", "Python is likely shutting down", "cannot schedule new futures after",
		"can't create new thread at interpreter shutdown", "at interpreter shutdown")
}

// noiseHeads begin lines that say nothing about why a program ended: of a dying interpreter, of a stack dump, which
// names frames and no cause, of a launcher that repeats what its children said, of an experiment tracker.
var noiseHeads = []string{
	"Fatal Python error: ", "Current thread 0x", "Thread 0x", "Stack (most recent call first):", "Extension modules: ",
	"C stack trace (most recent call first):", "Current thread's C stack trace", "Python runtime state: ", "Garbage-collecting",
	"<no Python frame>", "frame #", "Exception raised from ", "*** Aborted at ", "*** SIG", "PC: @ ", "    @ ", "*** Process received signal ***", "*** End of error message ***",
	"wandb: ", "wandb:", "Sending process ", "Killing subprocess", "terminate called", "E0000 ",
	"srun: Job step aborted", "srun: Terminating", "Set the environment variable HYDRA_FULL_ERROR=1",
	"Error executing job with overrides", "For simplicity, JAX has removed", "--------------------", "====================",
	"The stack trace below excludes JAX", "The preceding is the original exception", "Filtered Stack Trace:",
	"Stack trace:", "Call stack:", "Arguments: (", "Traceback (most recent call first)", "make: *** ", "make[",
	"Primary job  terminated normally", "mpirun detected that one or more processes exited with non-zero",
	"a non-zero exit code. Per user-direction, the job has been aborted", "Process name: [[", "  Process name: [[", "  Exit code:    1",
	"[W", "Additional GRPC error information",
}

// isNoise reports whether the line says nothing about the end, by its own words alone.
func isNoise(l *line) bool {
	if l.blank() || l.says(noiseHeads...) || isProgressBar(l.text) {
		return true
	}
	if l.contains("resource_tracker", "leaked semaphore", "leaked shared_memory", "destroy_process_group() was not called",
		"warnings.warn(", "Aborted (core dumped)", "closing signal SIG", "most recent call first") {
		return true
	}
	if bytes.HasPrefix(l.text, []byte(`  File "`)) && bytes.Contains(l.text, []byte(" in ")) && !bytes.Contains(l.text, []byte(", in ")) {
		return true // faulthandler's frames
	}
	return isTeardown(l)
}

// isProgressBar reports whether the line is one state of a progress bar.
func isProgressBar(text []byte) bool {
	if i := bytes.IndexByte(text[:min(len(text), 200)], '%'); i > 0 && i+1 < len(text) && (text[i+1] == '|' || text[i+1] == ' ') {
		if bytes.Contains(text, []byte("it/s")) || bytes.Contains(text, []byte("s/it")) || text[i+1] == '|' {
			return true
		}
	}
	return bytes.Contains(text, []byte("it/s]")) || bytes.Contains(text, []byte("s/it]")) || bytes.Contains(text, []byte("━━━"))
}

// handledWords reports whether the line itself says that what it tells of was got over.
func handledWords(l *line) bool {
	text := bytes.ToLower(l.text[:min(len(l.text), 600)])
	for _, w := range handled {
		if bytes.Contains(text, w) {
			return true
		}
	}
	return false
}

var handled = words("skipping", "skipped", "ignored", "ignoring", "falling back", "fallback", "fall back", "retrying", "will retry",
	"disabling", "disabled", "continuing", "trying again", "trying ", "recovered", "cleared", "using default", "not available, using",
	"(probe)", "attempt ", "instead", "no longer needed", "proceeding", "non-fatal", "nonfatal", "optional")

func words(list ...string) [][]byte {
	var all [][]byte
	for _, w := range list {
		all = append(all, []byte(w))
	}
	return all
}

// isEcho reports whether the line is a launcher's word about a child that exited with an ordinary code: the cause stands
// in what the child said.
func isEcho(l *line) bool {
	return l.contains("returned non-zero exit status", "exits with return code = ", "Exited with exit code ", "exited with exit code ",
		"failed (exitcode: ", "terminated with exit code ", "terminated with code ", "crashed with exit code ", "Application launch failed",
		"Child process with PID", "ELIFECYCLE", "exited with code ", "Command exited with", "error: Aborting job")
}
