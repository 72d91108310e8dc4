package exitcodes

import (
	"strings"
	"testing"
)

// TestFailedTask has srun, which ends all tasks when one has failed and exits with the highest code: that of those which it ended.
func TestFailedTask(t *testing.T) {
	const ended = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-25T10:34:07 ***\nsrun: error: n1: task 1: Terminated\n"
	const failed = "srun: error: n1: task 0: Exited with exit code 1\nsrun: Terminating StepId=7.0\n"
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		code   int
		says   string
	}{
		"a bug":              {wrap("KeyError: 'lr'") + failed + ended, Fatal, CodeFatalByRule, "KeyError"},
		"a lost peer":        {wrap("RuntimeError: Connection reset by peer") + failed + ended, Retry, 143, "reset by peer"},
		"something unknown":  {wrap("RuntimeError: odd") + failed + ended, Retry, 143, "odd"},
		"torchrun, stopped":  {wrap("torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got signal: 15") + failed + ended, Preempted, 143, "got signal"},
		"only ended":         {wrap("KeyError: 'lr'") + ended, Retry, 143, "CANCELLED AT"},
		"killed later":       {"srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nsrun: error: n1: tasks 0,2-3: Killed\nsrun: error: n1: task 1: Exited with exit code 1\n", Retry, 143, "exited 143"},
		"of a signal itself": {"srun: error: n1: task 0: Exited with exit code 139\n" + ended, Retry, 143, "CANCELLED AT"},
	} {
		t.Run(name, func(t *testing.T) {
			o := exited(143)
			o.Output = []byte(tt.output)
			if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || f.Code != tt.code || !strings.Contains(f.Evidence, tt.says) {
				t.Errorf("%s, %d, %q; want %s, %d, %q", f.Verdict, f.Code, f.Evidence, tt.want, tt.code, tt.says)
			}
		})
	}
}

// TestLeftByItself has srun kill the tasks of a step that one of them had ended itself, by MPI_Abort or with a code of its own, or that somebody else killed.
func TestLeftByItself(t *testing.T) {
	const (
		hdf5   = "HDF5-DIAG: Error detected in HDF5 (1.10.5) MPI-process 0:\n  #004: H5FDsec2.c line 346 in H5FD_sec2_open(): unable to open file: name = 'rst_01', errno = 2, error message = 'No such file or directory', flags = 0\n    major: File accessibilty\n  could not open restart\n"
		abort  = "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0\n"
		step   = "slurmstepd: error: *** STEP 118201.0 ON n1 CANCELLED AT 2020-07-07T11:22:11 ***\n"
		killed = "srun: error: n1: tasks 1-31: Killed\n"
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"by itself":            {hdf5 + abort + step + killed, Fatal, "errno = 2"},
		"of what is not known": {" no such basis: def9\n" + abort + step + killed, Fatal, "no such basis"},
		"with a code":          {" ERROR: group &time not found in input.nml\n" + step + "srun: error: n1: task 0: Exited with exit code 1\n" + killed, Fatal, "&time not found"},
		"with a code, later":   {killed + step + "srun: error: n1: task 0: Exited with exit code 1\n", Retry, "Killed"},
		"killed by somebody":   {killed, Retry, "Killed"},
		"killed before":        {killed + abort, Retry, "Killed"},
	} {
		if f := Judge(exited(1).printing("step 7\n"+tt.output), BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// TestShells has what shells say of the commands that they run: one that was not found is why the script ends only by its code, or
// where nothing came after; and an abort has been explained by whoever aborted.
func TestShells(t *testing.T) {
	const module = "run.sh: line 3: module: command not found\n"
	const abort = "terminate called after throwing an instance of 'gloo::IoException'\n  what():  [/tmp/gloo/transport/tcp/pair.cc:589] Read error [10.0.0.3]:33333: Connection reset by peer\n" +
		"bash: line 1:  3635 Aborted                 (core dumped) RANK=0 python train.py\n"
	for name, tt := range map[string]struct {
		code   int
		output string
		want   Verdict
		says   string
	}{
		"a module, then an exception": {1, module + wrap("RuntimeError: odd"), Fatal, "odd"},
		"a module, then a lost peer":  {1, module + "loading\nerror: connection refused by the store\n", Retry, "refused"},
		"an exception, then dash":     {1, wrap("RuntimeError: odd") + "run.sh: 64: R}: not found\n", Fatal, "odd"},
		"nothing else":                {1, module, Fatal, "command not found"},
		"by its code":                 {127, "/var/spool/slurmd/job7/slurm_script: line 3: conda: command not found\n", Fatal, "conda: command not found"},
		"an abort":                    {1, abort, Retry, "Read error"},
		"a kill":                      {1, abort[:len(abort)-len("bash: line 1:  3635 Aborted                 (core dumped) RANK=0 python train.py\n")] + "bash: line 1:  3635 Killed                  python train.py\n", Retry, "Killed"},
	} {
		t.Run(name, func(t *testing.T) {
			o := exited(tt.code)
			o.Output = []byte(tt.output)
			if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Evidence, tt.says) {
				t.Errorf("%s by %q (%q), want %s, %q", f.Verdict, f.Rule, f.Evidence, tt.want, tt.says)
			}
		})
	}
}
