package exitcodes

import (
	"strings"
	"testing"
)

// TestHeaded has runtimes tell why below a line that only says where: both are shown.
func TestHeaded(t *testing.T) {
	for name, tt := range map[string]struct{ output, says string }{
		"MATLAB":            {"Error using gpuArray\nUndefined function or variable 'n'.\n\nError in train (line 44)\nnet = build(n);\n", "Undefined function"},
		"R":                 {"Error in fit(x) : \n  argument \"lr\" is missing, with no default\nCalls: main -> fit\nExecution halted\n", "is missing"},
		"Julia":             {"ERROR: LoadError: On worker 2:\nUndefVarError: `lr` not defined\nStacktrace:\n [1] top-level scope\n", "UndefVarError"},
		"Julia's tasks":     {"ERROR: LoadError: TaskFailedException\n\n    nested task error: On worker 2:\n    On worker 3:\n    no method matching relu(::String)\n    Stacktrace:\n      [1] error\n", "no method matching"},
		"HDF5":              {"HDF5-DIAG: Error detected in HDF5 (1.8.18) thread 0:\n  #000: H5F.c line 522 in H5Fcreate(): unable to create file\n    major: File accessibilty\n    minor: Unable to open file\n  #001: H5Fint.c line 1024 in H5F_open(): unable to truncate a file which is already open\n    major: File accessibilty\n    minor: Unable to open file\nfatal error calling h5fcreate_f\n", "which is already open"},
		"Intel's Fortran":   {"forrtl: severe (24): end-of-file during read, unit 5, file stdin\nImage              PC                Routine            Line        Source\na.out      0000000000CF159E  Unknown               Unknown  Unknown\n", "end-of-file during read"},
		"GNU's Fortran":     {"At line 19 of file in.f90 (unit = 10)\nFortran runtime error: Bad integer for item 1 in list input\n\nError termination. Backtrace:\n#0  0x7f1b2c in ???\n", "Bad integer"},
		"OpenFOAM":          {"--> FOAM FATAL ERROR:\nMaximum number of iterations exceeded: 100\n\n    From function T(Foam::scalar)\n\nFOAM aborting\n", "iterations exceeded"},
		"behind a bar":      {"train: epoch 01:   1/232:Error using vl_nnconv\nAn input is not a numeric array.\n\nError in step (line 3)\ny = vl_nnconv(x, ...\n", "not a numeric array"},
		"Julia's classes":   {"DimensionMismatch(\"All data should contain same number of observations\")\n\nStacktrace:\n [1] _nobs at ./loader.jl:102 [inlined]\n", "All data should"},
		"a heading of R's":  {"Error in fit(x) :\nTraceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'lr'\n", "KeyError"},
		"MPI's parting":     {"abort: the matrix is singular\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 6.\n\nNOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\nYou may or may not see output from other processes, depending on\nexactly when Open MPI kills them.\n", "singular"},
		"PETSc's own frame": {"[0]PETSC ERROR: --------------------- Error Message ---------------\n[0]PETSC ERROR: Zero pivot in LU factorization\n[0]PETSC ERROR: #1 PCSetUp() at /p/precon.c:990\n", "Zero pivot"},
	} {
		f := Judge(exited(1).printing(tt.output), BuiltinRules())
		if f.Verdict != Fatal || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// TestContainerNotStarted has Apptainer exit with 255, as ssh does where the connection is lost: what it says decides.
func TestContainerNotStarted(t *testing.T) {
	for output, verdict := range map[string]Verdict{
		"FATAL:   container creation failed: mount error: can't mount image /proc/self/fd/9: failed to mount squashfs filesystem: invalid argument\n":                         Fatal,
		"FATAL:   container creation failed: mount hook function failure: mount source /data/x doesn't exist\n":                                                               Fatal,
		"FATAL:   While making image from oci registry: error fetching image: reading manifest: denied: requested access to the resource is denied\n":                         Fatal,
		"VERBOSE: Default mount: /etc/hosts\nFATAL:   container creation failed: failed to find loop device: no loop devices available\nVERBOSE: Checking for passwd file:\n": Retry,
		"FATAL:   container creation failed: mount error: while mounting image: failed to mount squashfs filesystem: input/output error\n":                                    Retry,
		"FATAL:   Unable to handle docker://a/b uri: pinging container registry: Get \"https://a/v2/\": net/http: TLS handshake timeout\n":                                    Retry,
		"FATAL   [U=0,P=37]         Master()                      container creation failed: mount /tmp failed: invalid argument\n":                                           Fatal,
		"FATAL: the loss is not finite\n": Retry, // by its code: no container runtime says so
		"Connection to n3 closed.\n":      Retry,
	} {
		if f := Judge(exited(255).printing(output), BuiltinRules()); f.Verdict != verdict {
			t.Errorf("%s by %q: %s", f.Verdict, f.Rule, output)
		}
	}
}

// TestCodesOfFortran has Intel's runtime exit with the number of its error, which is no signal's.
func TestCodesOfFortran(t *testing.T) {
	const table = "Image              PC                Routine            Line        Source\nmodel.exe  0000000003C4696A  Unknown               Unknown  Unknown\n"
	f := Judge(exited(174).printing("forrtl: severe (174): SIGSEGV, segmentation fault occurred\n"+table), BuiltinRules())
	if f.Verdict != Retry || !strings.Contains(f.Evidence, "SIGSEGV, segmentation fault occurred") || strings.Contains(f.Message, "SIGRTMIN") {
		t.Errorf("%s: %s", f.Verdict, f.Message)
	}
	for code, says := range map[int]string{151: "forrtl: severe (151): allocatable array is already allocated\n", 63: "forrtl: error (63): output conversion error, unit -5, file Internal Formatted Write\n"} {
		if f := Judge(exited(code).printing(says+table), BuiltinRules()); f.Verdict != Fatal || !strings.Contains(f.Evidence, strings.TrimSpace(says)) {
			t.Errorf("%d: %s: %s", code, f.Verdict, f.Message)
		}
	}
	f = Judge(exited(78).printing("forrtl: error (78): process killed (SIGTERM)\n"+table), BuiltinRules())
	if f.Verdict != Preempted {
		t.Errorf("%s: %s", f.Verdict, f.Message)
	}
}

// TestChecksOfCalls has MXNet's checks of what a call has returned, which no argument of the program's makes fail, beside those of arguments.
func TestChecksOfCalls(t *testing.T) {
	for check, verdict := range map[string]Verdict{
		"(send_bytes) != (-1) ":                  Retry,
		"recv_bytes != -1 (-1 vs. -1) ":          Retry,
		"connect(fd, addr, len) == 0 ":           Retry,
		"lhs.shape_ == rhs.shape_ (2 vs. 3) ":    Fatal,
		"bytes_per_pixel == 3 (4 vs. 3) ":        Fatal,
		"num_senders > 0 (0 vs. 0) no sender: x": Fatal,
	} {
		output := "terminate called after throwing an instance of 'dmlc::Error'\n  what():  [20:57:18] src/van.cc:126: Check failed: " + check + "\nAborted (core dumped)\n"
		if f := Judge(exited(134).printing(output), BuiltinRules()); f.Verdict != verdict {
			t.Errorf("%s by %q: %s", f.Verdict, f.Rule, check)
		}
	}
}
