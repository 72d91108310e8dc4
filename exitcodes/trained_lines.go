package exitcodes

// A training loop prints some lines only once it has made steps. One of them is enough, where others have to come again to count.

// tellsDone reports whether a line tells of steps that were made: in the words of a program that is known, or by how fast they were.
func (l *line) tellsDone(m *meter) bool {
	text := l.text[:min(len(l.text), maxStepLine)]
	if l.contains(ofDone...) && m.afford(1, len(text)) && doneSteps().Match(text) {
		return true
	}
	return l.contains(ofSpeed...) && !l.is(traitBar) && !l.says(loads...) && m.afford(2, len(text)) && countsBatches().Match(text) && howFast().Match(text)
}

var (
	// ofDone are literals without which doneSteps matches nothing.
	ofDone = []string{"[ITER ", " iterations in ", " steps in ", "SamplesPerSec=", "poch", "lobal_step", "it: ", "G ", "rain acc", "rain_acc", "rain Acc", "raining acc", "raining Acc",
		" avg", "main/", "Iter: ", " Up. ", "]\ttr", "]\tva", "'s ", "training time", "trn: ", "training_iteration: ", "total_timesteps", "Time Elapsed", "Training Loss", "words/sec/thread", "images/sec: "}
	doneSteps = lazy(`(?i)(?-i:^Epoch (?:[2-9]|[1-9]\d+)(?:/\d+)?$)|^\[ITER [1-9]\d+\] (?:Evaluating|Saving)` +
		`|\btrain\w*\b.{0,60}\b(?:[2-9]|[1-9]\d+) (?:iterations|steps) in \d` + // Detectron2's, once it has ended
		`|\bglobal_step=(?:[2-9]|[1-9]\d+), RunningAvgSamplesPerSec=` + // DeepSpeed's
		`|\bepoch: *\d+, iter: *[1-9][\d,]*, lr:` + // BasicSR's
		`|^step:(?:[2-9]|[1-9]\d+) - .*\bglobal_step:` + // verl's
		`|\bglobal_step/sec: \d` + // TensorFlow's estimators
		`|\btrain(?:ing)?[ _]acc(?:uracy)?\b["')\]]* *[:=] *\d` + // which is known only after some
		`|\bep: *\d+,? it: *(?:[2-9]|[1-9]\d+)\b` +
		`|^ *[1-9]\d*/\d+ +[\d.]+G(?: |$)` + // Ultralytics' row
		`|^ *(?:\d+: )?\d+\.\d+, \d+\.\d+ avg(?: loss)?, ` + // darknet's, also without the number at its head
		`|^epoch +(?:iteration +)?(?:main|validation)/` + // Chainer's heading, which comes with the first row
		`|\bIter: [1-9]\d*/\d+ +(?:Jobs: \d+ +)?Epoch: ` + // Kaldi's
		`|\bEp\. \d+ : Up\. [1-9]` + // Marian's
		`|^\[[1-9]\d*\]\s+(?:[\w']+[-_]\w+|[\w']+'s \w+):\s*\d` + // XGBoost's and LightGBM's
		`|\bbatch +[1-9]\d*:? +(?:trn:|training time)` + // DeePMD's
		`|\btraining_iteration: [1-9]` + // RLlib's
		`|\| +total_timesteps +\| +[1-9]` + // Stable Baselines'
		`|\bStep: [1-9]\d*\. Time Elapsed: ` + // ML-Agents'
		`|^\s*Step\s+Training Loss\b` + // the Trainer's in a notebook, which comes with the first row
		`|\bProgress: +(?:[1-9]|0\.[1-9])[\d.]*% words/sec/thread:` + // fastText's
		`|^[1-9]\d*\timages/sec: \d` + // TensorFlow's benchmarks
		`|\bFinished Epoch *\[ *[1-9]` + // CNTK's
		`|\bepoch:? *\[?\d+(?:/\d+)?\]? *:? (?:is )?(?:done|finished|completed|ended|took|took:|summary)\b`)

	// ofSpeed are literals without which howFast matches nothing.
	ofSpeed       = []string{"amples/s", "amples_per_s", "amplesPerS", "amples per s", "mages/s", "mgs/s", "ords/s", "tok/s", "okens/s", "okens_per_s", "okens per s", "rames/s", "equences/s", "entences/s", "teps/s", "tep/s", "atches/s"}
	howFast       = lazy(`(?i)\b(?:samples|examples|images|imgs|words|tok|tokens|frames|sequences|sentences|steps?|batches)(?: ?/ ?s(?:ec(?:onds?)?)?\b|_per_sec| per sec|PerSec)`)
	countsBatches = lazy(`(?i)\b(?:epochs?|ep\.|(?:global[_ ])?steps?|iter(?:ation)?s?|(?:mini)?batch|up\.|updates?)["')\]]*[\s:=#\[(]*\d`)
)
