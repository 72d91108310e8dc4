package exitcodes

import "bytes"

// A training loop prints some lines only once it has made steps. One of them is enough, where others have to come again to count.

// tellsDone reports whether a line tells of steps that were made: in the words of a program that is known, or by how fast they were beside
// what came of them. The speed of a preparation, of an evaluation or of a plan is none.
func (l *line) tellsDone(m *meter) bool {
	text := l.text[:min(len(l.text), maxStepLine)]
	if (l.is(traitSteps) || isRow(text)) && m.afford(1, len(text)) && doneSteps().Match(text) {
		return true
	}
	return l.is(traitSpeed) && m.afford(3, len(text)) && laterStep().Match(text) && ofStep().Match(text) && !beforeSteps().Match(text)
}

// isRow reports whether a line begins with a number, also in brackets, as the rows of some programs' tables do.
func isRow(text []byte) bool {
	text = bytes.TrimLeft(text, " ")
	if len(text) > 0 && text[0] == '[' {
		text = text[1:]
	}
	return len(text) > 0 && isDigit(text[0])
}

var (
	// ofSteps has a word of each line that doneSteps is to find, but for rows.
	ofSteps = []string{"[iter ", " iterations in ", " steps in ", "samplespersec=", "epoch", "lobal_step", " it: ", "train acc", "train_acc", "training acc", "training_acc",
		" avg", "main/", "iter: ", " up. ", "training time", "trn: ", "time_total_s: ", " fps ", "time elapsed", "words/sec/thread", "images/sec: "}
	doneSteps = lazy(`(?i)(?-i:^Epoch (?:[2-9]|[1-9]\d+)(?:/\d+)?$)|^\[ITER [1-9]\d+\] (?:Evaluating|Saving)` +
		`|\btrain\w*\b.{0,60}\b(?:[2-9]|[1-9]\d+) (?:iterations|steps) in \d` + // Detectron2's, once it has ended
		`|\bglobal_step=(?:[2-9]|[1-9]\d+), RunningAvgSamplesPerSec=` + // DeepSpeed's
		`|\bepoch: *\d+, iter: *[1-9][\d,]*, lr:` + // BasicSR's
		`|^step:(?:[2-9]|[1-9]\d+) - .*\bglobal_step:` + // verl's
		`|\bglobal_step/sec: (?:[1-9]|0\.0*[1-9])` + // TensorFlow's estimators
		`|^(?:\W*epoch\W*\d+\W*)?train(?:ing)?[ _]acc(?:uracy)?\b *[:=] *0*(?:[1-9]|\.0*[1-9])` + // which is known only after some
		`|\bep: *\d+,? it: *(?:[2-9]|[1-9]\d+)\b` +
		`|^ *[1-9]\d*/\d+ +[\d.]+G(?: |$)` + // Ultralytics' row
		`|^ *(?:\d+: )?\d+\.\d+, \d+\.\d+ avg(?: loss)?, \d` + // darknet's, also without the number at its head
		`|^epoch +(?:iteration +)?(?:main|validation)/` + // Chainer's heading, which comes with the first row
		`|\bIter: [1-9]\d*/\d+ +(?:Jobs: \d+ +)?Epoch: ` + // Kaldi's
		`|\bEp\. \d+ : Up\. [1-9]` + // Marian's
		`|^\[[1-9]\d*\]\s+(?:[\w']+-[a-z@\d]+|[\w']+'s \w+): *\d+\.\d` + // XGBoost's and LightGBM's
		`|\bbatch +[1-9]\d*:? +(?:trn:|training time)` + // DeePMD's
		`|^ +time_total_s: \d` + // RLlib's
		`|^\| +fps +\| +\d` + // Stable Baselines'
		`|\bStep: [1-9]\d*\. Time Elapsed: ` + // ML-Agents'
		`|\bProgress: +(?:[1-9]|0\.[1-9])[\d.]*% words/sec/thread:` + // fastText's
		`|^[1-9]\d*\timages/sec: \d` + // TensorFlow's benchmarks
		`|\bFinished Epoch *\[ *[1-9]|\bEpoch\[ *\d+ of \d+\]-Minibatch\[ *[1-9]` + // CNTK's
		`|\bepoch:? *\[?\d+(?:/\d+)?\]? *:? (?:is )?(?:done|finished|completed|ended|took|took:|summary)\b`)

	// ofSpeed are words of lines that tell how fast something is.
	ofSpeed     = []string{"samples/s", "samples / s", "samples_per_s", "samples per s", "images/s", "images_per_s", "imgs/s", "words/s", "tok/s", "tokens/s", "tokens_per_s", "tokens per s", "frames/s", "sequences/s", "sentences/s", "steps/s", "step/s", "batches/s"}
	ofStep      = lazy(`(?i)(?:\b|_)(?:loss|acc|accuracy|ppl|perplexity|lr|learning[ _]rate|grad[ _]norm|gnorm|cost|reward)\b["')\]]*[\s:=]*\d`)
	beforeSteps = lazy(`(?i)\b(?:eval\w*|valid\w*|test|warm-?up|bench\w*|target|expect\w*|max|sanity|dry)\b`)
)
