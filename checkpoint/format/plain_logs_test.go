package format

import "testing"

// TestLogsAreNoState has a run's directory of logs, named by a time, beside that of its checkpoints: rotated logs and
// TensorBoard's events end in numbers, as some programs' checkpoints do.
func TestLogsAreNoState(t *testing.T) {
	for _, log := range []string{
		"events.out.tfevents.1714560000.node0.4242.0", "events.out.tfevents.1714560000.node0", "info.log.1", "rank0.jsonl.12", "out.txt.3",
	} {
		d := newDisk(t)
		d.play(
			writeText("log/mnist/0501_120000/info.log", "epoch 1"),
			writeText("log/mnist/0501_120000/"+log, "loss 0.5"),
			write("models/mnist/0501_120000/checkpoint-epoch5.pth", anyState(5)),
		)
		const want = "models/mnist/0501_120000/checkpoint-epoch5.pth"
		if cs := see(t, d.fs(), Options{}); len(cs) != 1 || cs[0].Path != want || !cs[0].Resumable {
			t.Errorf("beside %s:%s\nwant %s alone", log, list(cs), want)
		}
	}
	d := newDisk(t)
	d.play(write("model.100", anyState(100)), write("model.200", anyState(200)))
	if cs := see(t, d.fs(), Options{}); len(cs) != 2 {
		t.Errorf("a step at the end of a name:%s", list(cs))
	}
}
