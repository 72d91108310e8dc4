package exitcodes

import (
	"bytes"
	"slices"
	"strings"
)

// isIgnoredHeading reports whether the line introduces an exception of which the program did not end: one in a
// destructor, in a thread, in an exit handler, in a task that nobody waits for, in the logger itself.
func isIgnoredHeading(l *line) bool {
	return l.says("Exception ignored ", threadHead, "Error in atexit", "Exception in atexit", "--- Logging error ---",
		"Exception in callback ", "Error in sys.excepthook", "Error in sys.exitfunc", "Exception in Tkinter",
		"Task exception was never retrieved", "Future exception was never retrieved", "Unhandled exception in thread",
		"Error while calling ", "Exception caught by weakref", "Jax plugin configuration error: ", "object address  :")
}

const threadHead = "Exception in thread "

// ignoredHeading reports whether the line introduces such an exception of Python's, and not one of Java's main thread.
func ignoredHeading(l *line) bool {
	if !isIgnoredHeading(l) {
		return false
	}
	_, _, foreign := foreignHead(l.text)
	return !foreign && !l.says(threadHead+"\"main\"")
}

// readerThread and streamThread are what Paddle and Streaming say of a thread that reads data, whose exception stands
// before.
const (
	readerThread = "data reader raises an exception"
	streamThread = "Background thread failed. Check other traces"
)

// noiseHeads begin lines that say nothing about why a program ended: of a dying interpreter, of a stack dump, which
// names frames and no cause, of a launcher that repeats what its children said, of an experiment tracker.
var noiseHeads = []string{
	"Fatal Python error: ", "Original exception was:", "kaldi::KaldiFatalError", "Current thread 0x", "Thread 0x", "Stack (most recent call first):", "Extension modules: ",
	"C stack trace (most recent call first):", "Current thread's C stack trace", "Python runtime state: ", "Garbage-collecting",
	"<no Python frame>", "  <no Python frame>", "  Garbage-collecting", "frame #", "Exception raised from ", "*** Aborted at ", "*** SIG", "PC: @ ", "    @ ", "*** Process received signal ***", "*** End of error message ***",
	"wandb: ", "wandb:", "env {'", "[TimeInfo: ", "  [TimeInfo: ", "[SignalInfo: ", "  [SignalInfo: ", "Sending process ", "Closing process ", "Killing subprocess", "terminate called", "E0000 ",
	"srun: Job step aborted", "srun: Terminating", "srun: Force Terminated", "srun: launch/slurm: ", "Set the environment variable HYDRA_FULL_ERROR=1",
	"Error executing job with overrides", "For simplicity, JAX has removed", "--------------------", "====================",
	"The stack trace below excludes JAX", "The preceding is the original exception", "Filtered Stack Trace:",
	chainedCause, chainedContext, "Stack trace:", "Stack trace returned ", "Stacktrace:", "StackTrace:", "[ Stack-Trace: ]", "*** Begin stack trace ***", "*** End stack trace ***", "Driver stacktrace:", "Backtrace:", "Call stack:", "Message: '", "Calls: ", "Execution halted", "FOAM aborting", "FOAM exiting", "aborting job:", "Error termination. Backtrace:", "Arguments: (", "Traceback (most recent call first)", "make: *** ", "make[",
	"Primary job  terminated normally", "mpirun detected that one or more processes exited with non-zero",
	"a non-zero exit code. Per user-direction, the job has been aborted", "Process name: [[", "  Process name: [[", "  Exit code:    1",
	"[W ", "[W0", "[W1", "Additional GRPC error information", "Sentry is attempting to send", "with errorcode ", "NOTE: invoking MPI_ABORT", "You may or may not see output from other", "Waiting up to ", "Press Ctrl-C to quit",
	"(Background on this error at: ", "stack backtrace:", "note: run with `RUST_BACKTRACE", "note: Some details are omitted, run with `RUST_BACKTRACE", "End of HDF5 error back trace", `ErrorMessage ""`, `Command "/`,
}

// wordings are what lines say by which their traits are known, whatever the case.
var (
	wordings = newVocabulary()

	wordsNoise = wordings.list("@ ... and at least ", "nvml library version: ", "lost sys.stderr", "resource_tracker", "leaked semaphore", "leaked shared_memory", "destroy_process_group() was not called",
		"warnings.warn(", "report_tensor_allocations_upon_oom", "aborted (core dumped)", "*** check failure stack trace", "closing signal sig", "most recent call first",
		"petsc error: #", "petsc error: ---", "petsc error: see http", "petsc error: configure options", "petsc error: petsc ", "note: invoking mpi_abort", "you may or may not see output from other", "exactly when open mpi kills", "mpi_errors_are_fatal", "has sent help message help-", "have sent help message help-", "\"orte_base_help_aggregate\"", "\"prte_base_help_aggregate\"", "and mpi will try to terminate", "*** on communicator", "*** on a null communicator", "*** an error occurred in mpi_", "] *** unknown error", "total chunks: ", "sum total of in-use chunks", "in-use chunk", "*** reported by process", "and potentially your mpi job",
		"local abort before mpi_init completed", "to aggregate error messages, and not able")
	wordsTeardown = wordings.list("error occurred when finalizing generatordataset", "sys.meta_path is none", "python is likely shutting down", "cannot schedule new futures after",
		"at interpreter shutdown", "mqllmengine terminated")
	wordsExit = wordings.list("terminate called without an active exception", "python runtime state: finalizing", "at interpreter shutdown",
		"id: shutdown::", "destroy_process_group() was not called", "process group has not been destroyed before we destruct")
	wordsBar = wordings.list("=>.", "==>...", "==] - ", "it/s]", "s/it]", "%|", "\u2501\u2501\u2501", "\u2501\u2578", "\u2501\u257a")
	// A launcher's word about a child that exited with an ordinary code: the cause stands in what the child said.
	wordsEcho = wordings.list("returned non-zero exit status", "exits with return code = ", "exited with exit code ", "failed (exitcode: ",
		"terminated with exit code ", "terminated with code ", "crashed with exit code ", "application launch failed", "mpi_abort was invoked on rank", "application called mpi_abort(", "child process with pid",
		"elifecycle", "; unknown error 255", "error building extension", "ld returned 1 exit status", "linker command failed with exit code", "exited with code ", "command exited with", "errored out with exit status", "fatal: index-pack failed", "ninja: build stopped", "compilation terminated.", "fatal: fetch-pack: invalid index-pack output", "npm err! errno ", "see above for error", "inner error is reported as above", "warning log message was printed above", "exit with status code ", "one or more processes exited with non-zero status", "the log above", "finished in state failed",
		"executeuserscripterror", "reporting training failure", "encountered exit_code", "because a job execution failed", "error in rule ",
		"error in rsync protocol data stream (code 12)", "some files/attrs were not transferred", "error in socket io (code 10)", "unexplained error (code 255)", "error: aborting job",
		"inspect the previous error messages for a cause", readerThread, "thread failed. check other traces", "(above) for the root cause", "see root cause above",
		"` value: any', ", "failed to precompile ",
		"waiting for w&b process to finish", "error: failed process: process(", " (read) {", " (write) {",
		"process finished with exit code ", "error is not recoverable: exiting now", "exiting with failure status due to previous errors", "exited with return code ", "final job status: failed", "mpi_abort was invoked on rank", "application called mpi_abort(", "is aborting the mpi job", "error detected on worker", "error detected on lab", "abort trap signal", "container failed !!!", " status failed cmd [", "failed runs in the first ", "submitted job triggered an exception", "trial task failed for trial", "=== run (id '", "complete log: ", "distcp failure: job ", "job failed as tasks failed", "captured by flyte", "external filter '")
	// What points at what was said before, where a line ends with it.
	pointing      = []string{"see above", "see stack trace for the root cause", "see the stack trace above", "see stack trace above", "see the traceback above", "see the error above", "see error above", "see the errors above", "see above for details", "see logs above", "see the logs above", "see output above", "see the output above", "check the logs above", "check the error above", "threads have exited", "threads have died", "threads exited", "files failed to download", "file failed to download", "files failed to upload", "finished with failed status", "at least one job did not complete successfully", "could not be transferred", "value: any { .. }"}
	wordsPointing = wordings.list(pointing...)
	wordsHandled  = wordings.list("skipping", "skipped", "ignored", "ignoring", "falling back", "fallback", "fall back", "retrying", "will retry",
		"disabling", "disabled", "continuing", "trying again", "recovered", "cleared", "using default", "not available, using",
		"(probe)", "attempt #", "attempt 0", "attempt 1", "attempt 2", "attempt 3", "attempt 4", "attempt 5", "attempt 6",
		"attempt 7", "attempt 8", "attempt 9", "first attempt", "previous attempt", "instead", "no longer needed", "proceeding", "non-fatal", "nonfatal", "optional")
	wordsTrying      = wordings.list("trying ")
	wordsWhileTrying = wordings.list("you are trying ", "were trying ", "timed out trying ", "while trying ", "when trying ", "after trying ", "error trying ", "failed trying ")
	// A condition that passes is an error by its words alone.
	wordsPassing = wordings.list(slices.Concat(peerLostWords, unreachableWords, fileServerWords, inUseWords, busyWords, passingTimeouts, driverGoneWords, passingConditions())...)
	wordsWrong   = wordings.list("rror:", "rror ", "rror(", "rrorcode", "curl: (", "forrtl: ", "unrecognized function", "undefined function", "not converge", "exception", "atal", "ailed", "annot ", "nvalid", "o such", "not found", "abort", "killed", "lost",
		"could not", "unable to", "panic", "refused", "timed out", "time-out of ", "time-out after ", "unreachable", "reset by peer", "unexpected eof", "i/o timeout", "no route to host",
		"illegal ", "bad_alloc", "unavailable", "cudaerror", "cuda_error_", "hiperror", "gpuassert", "cublas_status_", "cudnn_status_", "cusparse_status_", "cusolver_status_",
		"curand_status_", "hipblas_status_", "misaligned address", "launch failure", "address already in use")
	// What a program prints again and again while it waits, tries again or ends.
	wordsIdle = wordings.list("retry", "try_time", "trying ", "init fail", "waiting", "reconnect", "killing", "closing", "shutting down", "shutdown", "terminat", "aborting", "cleanup",
		"cleaning up", "destroy", "nccl info", "nccl warn", "traceback", "exception", "failed", "timed out", "[watchdog", "heartbeat", "signal",
		"errno", "stopping", "exiting", "exited", "crashed", "----------", "http/1", "poll", "keepalive", "keep-alive", "gpu util", "memory usage", "still running", "for framework developers", "mindspore/ccsrc/")
	wordsGaveUp  = wordings.list("giving up after", "gave up after", "giving up.", "no more retries", "no retries left")
	wordsWithout = wordings.list("continu", "without", "optional", "disabl", "skipp", "ignor", "anyway", "proceed", "offline")
	wordsNames   = wordings.list("but didn't join collective #", "failed to pass monitoredbarrier", "jax_worker/replica:",
		"remote peer ", "by peer [", "read error [", "write error [", "remote=[")
	wordsSignal = wordings.list(signalTold...)
	wordsShell  = wordings.list(shellWords()...)
	wordsSteps  = wordings.list(ofSteps...)
	wordsSpeed  = wordings.list(ofSpeed...)
)

// traitsOf looks at the words of a line.
func traitsOf(l *line) (t trait) {
	lower := bytes.ToLower(l.text)
	h := wordings.in(lower)
	give := func(flag trait, has bool) {
		if has {
			t |= flag
		}
	}
	wrong := h.any(wordsWrong)
	if wrong {
		if rest, found := withoutMeasures(lower); found {
			wrong = wordings.in(rest).any(wordsWrong)
		}
	}
	give(traitBar, h.any(wordsBar))
	give(traitTeardown, h.any(wordsTeardown))
	give(traitExit, h.any(wordsExit))
	give(traitNoise, l.blank() || l.says(noiseHeads...) || h.any(wordsBar) || h.any(wordsNoise) || h.any(wordsTeardown) || isStackDump(l) || bytes.HasPrefix(bytes.TrimLeft(l.text, " "), []byte("[bt] (")) || isRustFrame(l) || isLuaFrame(l) || isForeignFrame(l) || isCxxFrame(l.text) || isRuntimeFrame(l.text) || !wrong && isJuliaCrashFrame(l.text) || l.says("...and ") && l.contains(" more exception")) // the last: Julia's
	give(traitEcho, h.any(wordsEcho) || h.any(wordsPointing) && points(lower) || endedBySlurm(l) || ofMake(l) && l.contains("] Error ") || l.contains(" died from signal ") && l.contains(": rank ") || l.contains("AirflowException: Pod ") && l.contains(" returned a failure."))
	give(traitError, l.level != levelInfo && (wrong || h.any(wordsPassing) || h.any(wordsEcho) || namesException(l.text)))
	give(traitWork, !h.any(wordsIdle) && mayBeWork(l))
	give(traitSteps, h.any(wordsSteps))
	give(traitSpeed, h.any(wordsSpeed))
	give(traitNames, h.any(wordsNames))
	give(traitGaveUp, h.any(wordsGaveUp))
	give(traitSignal, h.any(wordsSignal))
	give(traitShell, h.any(wordsShell))
	give(traitOutcome, h.any(wordsOutcome))
	if before, _, advises := bytes.Cut(lower, []byte(" consider ")); advises { // what to do about it was not done
		h = wordings.in(before)
	}
	give(traitHandled, h.any(wordsHandled) || h.any(wordsTrying) && !h.any(wordsWhileTrying))
	give(traitWithout, h.any(wordsWithout))
	return t
}

// points reports whether a line ends by pointing at what was said before, and is no error of the program's own that says something itself.
func points(lower []byte) bool {
	text := bytes.TrimRight(lower, " .!)")
	for _, words := range pointing {
		if rest, found := bytes.CutSuffix(text, []byte(strings.TrimRight(words, " .!)"))); found {
			class, _, named := bytes.Cut(rest, []byte("error: "))
			return !named || !ownErrors[titled(class)+"Error"] && !logicErrors[titled(class)+"Error"]
		}
	}
	return false
}

// titled is the last name in lower case, as a class begins: "value" of "a.value" is Value.
func titled(class []byte) string {
	name := lastName(string(class))
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// namesException reports whether a line begins with the whole name of an exception, whose message may tell of nothing:
// "pynvml.NVMLError_Unknown: Unknown Error".
func namesException(text []byte) bool {
	class, _, ok := exceptionHead(text)
	return ok && strings.Contains(class, ".") && looksRaised(class)
}

// trackers are how experiment trackers begin their lines: with their name, or with that of their logger or exception.
var trackers = []string{"wandb:", "wandb.", "COMET ", "COMET INFO:", "COMET WARNING:", "comet_ml.", "[neptune]", "neptune.", "mlflow.", "clearml."}

// ofTracker reports whether an experiment tracker says the line. What a logger is called may have been taken off it.
func ofTracker(l *line, m *meter) bool {
	if l.says(trackers...) {
		return true
	}
	taken := len(l.raw) - len(l.text)
	if l.level == levelNone || taken <= 0 || taken > maxTaken {
		return false
	}
	m.pass(1, taken)
	for word := range bytes.FieldsSeq(l.raw[:taken]) {
		if (&line{text: word}).says(trackers...) {
			return true
		}
	}
	return false
}

const maxTaken = 120 // bytes at the start of a line

// isForeignFrame reports whether the line is a frame as Java, Node or Julia writes one: "	at a.B.c(B.java:7)", "	... 12 more",
// "    at async main (/app/run.js:7:3)", "   @ Main /app/run.jl:12".
func isForeignFrame(l *line) bool {
	text := bytes.TrimLeft(l.text, " \t")
	if isMATLABFrame(l.text) || isArrow(l.text) {
		return true
	}
	if len(text) == len(l.text) && !l.says("at ", "... ") { // which pages take for a paragraph
		return false
	}
	if call, found := bytes.CutPrefix(bytes.TrimSpace(text), []byte("at ")); found {
		if at := bytes.LastIndex(call, []byte(") ~[")); at > 0 { // which logback and log4j put behind it: the jar, and its version
			call = call[:at+1]
		} else if at := bytes.LastIndex(call, []byte(") [")); at > 0 && call[len(call)-1] == ']' {
			call = call[:at+1]
		}
		name, place, found := bytes.Cut(call, []byte("("))
		place, closed := bytes.CutSuffix(place, []byte(")"))
		return found && (closed && (inJava(name, string(place)) || inNode(string(place))) || inDotNet(name, call))
	}
	return bytes.HasPrefix(text, []byte("@ ")) && len(text) < len(l.text) && bytes.Contains(text, []byte(".jl:")) ||
		bytes.HasPrefix(text, []byte("... ")) && bytes.HasSuffix(bytes.TrimSpace(text), []byte(" more"))
}

// isArrow reports whether a line is the one of a source at which IPython points: "---> 99         backward(loss)".
func isArrow(text []byte) bool {
	return bytes.HasPrefix(text, []byte("---")) && arrowPattern().Match(text)
}

var arrowPattern = lazy(`^-{3,5}> \d+(?: |$)`)

// inJava reports whether a method and its place are written as Java writes them: "a.B.c", "B.java:7".
func inJava(name []byte, place string) bool {
	if bytes.IndexByte(name, ' ') >= 0 || bytes.IndexByte(name, '.') < 0 {
		return false
	}
	file, number, _ := strings.Cut(place, ":")
	return file == "Native Method" || file == "Unknown Source" || !strings.ContainsAny(file, " /") && (number == "" || digits(number)) &&
		file != "" && !digits(strings.ReplaceAll(file, ".", ""))
}

// inDotNet reports whether a call of a method is written as .NET writes it: "Tensorflow.Status.Check(Boolean throw) in /a/Status.cs:line 7".
func inDotNet(name, call []byte) bool {
	if bytes.IndexByte(name, ' ') >= 0 || bytes.Count(name, []byte(".")) < 2 || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	return call[len(call)-1] == ')' || bytes.Contains(call, []byte(") in ")) && bytes.Contains(call, []byte(":line "))
}

// inNode reports whether a place is written as Node.js writes it: "/app/run.js:7:3", "node:net:1494:16".
func inNode(place string) bool {
	for range 2 { // the line and the column
		i := strings.LastIndexByte(place, ':')
		if i < 0 || !digits(place[i+1:]) {
			return false
		}
		place = place[:i]
	}
	return strings.HasPrefix(place, "node:") || strings.ContainsAny(place, `/\`) || strings.HasSuffix(place, "js")
}

// isJuliaFrame reports whether the line names a call as Julia does below "Stacktrace:", as in " [1] main()".
func isJuliaFrame(l *line) bool {
	rest, found := bytes.CutPrefix(bytes.TrimLeft(l.text, " \t"), []byte("["))
	n := bytes.IndexByte(rest[:min(len(rest), 5)], ']')
	return found && n > 0 && digits(string(rest[:n]))
}

// isJuliaCrashFrame reports whether the line is one of the stack that Julia prints of a process that dies: "load at /app/SIMD.jl:477
// [inlined]", "start_task at /src/julia/task.c:1253", "unknown function (ip: 0x12a4d0067)".
func isJuliaCrashFrame(text []byte) bool {
	text = bytes.TrimSuffix(bytes.TrimSpace(text[:min(len(text), 400)]), []byte(" [inlined]"))
	if bytes.HasPrefix(text, []byte("unknown function (ip: ")) {
		return true
	}
	name, place, found := bytes.Cut(bytes.TrimPrefix(text, []byte("macro expansion")), []byte(" at "))
	if !found || bytes.IndexByte(name, ' ') >= 0 || bytes.IndexByte(place, ' ') >= 0 || !bytes.HasPrefix(bytes.TrimPrefix(place, []byte(".")), []byte("/")) {
		return false
	}
	file, number, found := bytes.Cut(place, []byte(":"))
	return found && digits(string(number)) && (bytes.HasSuffix(file, []byte(".jl")) || bytes.HasSuffix(file, []byte(".c")) || bytes.HasSuffix(file, []byte(".h")) || bytes.HasSuffix(file, []byte(".cpp")))
}

// isCxxFrame reports whether the line is nothing but a function of C++, as libraries print their stacks without addresses:
// "void kaldi::CuVectorBase<float>::CopyToVec<float>(kaldi::VectorBase<float>*) const".
func isCxxFrame(text []byte) bool {
	tab := len(text) > 0 && text[0] == '\t' // the rest of it may be cut off
	text = bytes.TrimSuffix(bytes.TrimSpace(text), []byte(" const"))
	if address, found := bytes.CutPrefix(text, []byte("@ ")); found && bytes.HasPrefix(bytes.TrimLeft(address, " "), []byte("0x")) { // glog's
		return true
	}
	open := bytes.IndexByte(text, '(')
	if open < 1 || text[len(text)-1] != ')' && !tab || bytes.HasPrefix(text, rustUnmarked) {
		return false
	}
	name := text[:open]
	return bytes.Contains(name, []byte("::")) && !bytes.Contains(name, []byte(": ")) && bytes.Count(name, []byte(" ")) <= 1+2*bytes.Count(name, []byte(", ")) &&
		!bytes.ContainsAny(name, "'\"=/[]`")
}

// isLuaFrame reports whether the line is one of Lua's stack: "\t[C]: in function 'dofile'", "\ttrain.lua:43: in main chunk".
func isLuaFrame(l *line) bool {
	text := bytes.TrimLeft(l.text, " \t")
	return len(text) < len(l.text) && (bytes.HasPrefix(text, []byte("[C]: ")) || bytes.HasPrefix(text, []byte("[string \"")) || bytes.Contains(text[:min(len(text), 300)], []byte(": in function ")) || bytes.HasSuffix(text, []byte(": in main chunk"))) ||
		l.says("stack traceback:")
}

// isRustFrame reports whether the line is one of a backtrace in Rust: "   0: core::panicking::panic".
func isRustFrame(l *line) bool {
	text := bytes.TrimLeft(l.text, " ")
	n := bytes.IndexByte(text[:min(len(text), 6)], ':')
	return len(text) < len(l.text) && n > 0 && digits(string(text[:n])) && bytes.Contains(text, []byte("::"))
}

// endedBySlurm reports whether Slurm says that it has ended the other tasks, or the step, of one that has failed.
func endedBySlurm(l *line) bool {
	return l.says("srun: error: ") && bytes.HasSuffix(bytes.TrimSpace(l.text), []byte(": Terminated")) ||
		l.contains("*** STEP ") && l.contains(" CANCELLED AT ") && !l.contains(" DUE TO ")
}

// isStackDump reports whether the line is one of faulthandler's frames.
func isStackDump(l *line) bool {
	return bytes.HasPrefix(l.text, []byte(`  File "`)) && bytes.Contains(l.text, []byte(" in ")) && !bytes.Contains(l.text, []byte(", in "))
}
