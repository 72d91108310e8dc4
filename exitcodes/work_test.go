package exitcodes

import (
	"strings"
	"testing"
)

// TestWork: what only looks like work, by its shape, does not make an error survived: a table of Ray's, NCCL's way out, what was in
// buffers when srun ended the step.
func TestWork(t *testing.T) {
	const (
		ray    = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
		table  = "PID     MEM(GB) COMMAND\n4100606 56.57   ray::WorkerDict.generate\n4100605 56.36   ray::WorkerDict.generate\n4100604 56.13   ray::WorkerDict.generate\n"
		launch = "srun: error: Task launch for StepId=20.0 failed on node n33: Socket timed out on send/recv operation\n"
		ended  = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
		hosts  = "192 : n17\n192 : n17\n192 : n17\n192 : n17\n"
		wan    = "n7:454:587 [0] include/socket.h:196 WARN Connection closed by remote peer\n"
		way    = "n7:454:587 [0] INFO include/net.h:31 -> 2 [Net]\nn7:454:587 [0] INFO include/net.h:45 -> 2 [Net]\nn7:454:587 [0] INFO bootstrap.cu:189 -> 2\nn7:454:587 [0] INFO init.cu:404 -> 2\n"
	)
	wantVerdicts(t, map[string]printed{
		"each rank's abort":  {"step 1\n" + strings.Repeat("MPICH ERROR [Rank 8] [job id 7.0] - Abort(1) (rank 8 in comm 0): Fatal error in PMPI_Waitall: Other MPI error, error stack:\nSIGABRT\n", 5), Retry},
		"Ray's table":        {ray + table, Retry},
		"buffers of a step":  {launch + ended + hosts, Retry},
		"the next step's":    {launch + ended + strings.Repeat(hosts, 5), Fatal},
		"without its end":    {launch + hosts, Fatal},
		"NCCL's way out":     {wan + way, Retry},
		"steps after a loss": {wan + "step 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\n", Fatal},
	})
}

// TestShellWentOn: what a shell says of the rest of its script, once what it ran was killed, comes of it.
func TestShellWentOn(t *testing.T) {
	const (
		bar    = "Training Steps:  10%|#   | 289/3000 [21:11<3:59:59,  5.31s/it, loss=0.0425]"
		killed = "scripts/run.sh: line 36: 12345 Killed                  accelerate launch train.py \\\n"
		rest   = "scripts/run.sh: line 48: --pretrained: command not found\n"
	)
	wantVerdicts(t, map[string]printed{
		"in a line of its own": {"step\n" + killed + rest, Retry},
		"behind a bar":         {bar + killed + rest, Retry},
		"and blanks":           {bar + "   " + killed + rest, Retry},
		"not killed":           {bar + "\n" + rest, Fatal},
		"another script's":     {strings.ReplaceAll(killed, "run.sh", "warm.sh") + rest, Fatal},
	})
}

// TestValues: the values of an array in a message are no work, however often their shape comes.
func TestValues(t *testing.T) {
	for text, work := range map[string]bool{
		"       4.73e-14, 1.52018039e+003, 4.76,": false,
		"       1.45287282E-15]), 2, 7.5e3":       false,
		"      [4.73e-14, 1.52e-14], dtype":       true,
		"4 10 0.73 epoch":                         true,
		"   10  1.2e-03  4.5e-05":                 true,
		"step e5 4.73e-14":                        true,
	} {
		if got := mayBeWork(&line{text: []byte(text)}); got != work {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestMetricsOfErrors has the lines of a training loop speak of errors: they are work all the same.
func TestMetricsOfErrors(t *testing.T) {
	const lost = "n7:454:587 [0] include/socket.h:196 WARN Connection closed by remote peer\n"
	wantVerdicts(t, map[string]printed{
		"of one form":  {lost + strings.Repeat("step:261 - loss:2.5 - data/invalid:0.0\n", 6), Fatal},
		"of two forms": {lost + strings.Repeat("step:261 - loss:2.5 - data/invalid:0.0\nstep:262 - loss:2.5\n", 6), Fatal},
	})
}
