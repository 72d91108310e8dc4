// Package progress reads how far training has come from what it prints: the lines by which each framework shows its
// steps ([Profiles]), or a pattern of the user's own ([Custom]). It is for programs that do not report their steps in
// another way. What it reads shows that there is progress; it is not the number of a checkpoint, since progress bars
// start from 0 in each epoch.
package progress

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// Profile is how one framework shows its progress.
type Profile struct {
	Name string
	// Steps are patterns of lines that show a step; the first group is its number.
	Steps []Pattern
	// Phases are patterns of lines that begin a phase.
	Phases []Pattern
}

// Pattern is one kind of line.
type Pattern struct {
	Phase   string   // that the line begins, or belongs to; empty: train
	Literal []string // all of which the line contains: what is cheap comes first
	RE      string   // a group that is called of is how many steps its loop has
	Example string   // such a line, as the framework prints it

	once     *sync.Once
	compiled *regexp.Regexp
}

// The phases of lines that are no training steps.
const (
	eval       = "eval"
	checkpoint = "checkpoint"
	train      = "train"
	loopEnd    = "loop-end" // after the last step of a loop, whichever it was: how long what follows takes is unknown
)

// bar is a progress bar of tqdm, without its description.
const bar = `\d+%\|[^|]*\| *(\d+)/(?P<of>\d+) \[`

// profiles are tried in this order where none is named: those whose lines could be another's come last.
var profiles = []Profile{
	{Name: "megatron",
		Steps: []Pattern{{
			Literal: []string{"iteration", "elapsed time per iteration"}, RE: `\biteration +(\d+)/ *(?P<of>\d+) \|`,
			Example: " [2025-03-01 10:00:00] iteration       20/     100 | consumed samples:          320 | elapsed time per iteration (ms): 512.3 | learning rate: 1.5E-04 | global batch size:    16 |",
		}, {
			Phase: eval, Literal: []string{"Evaluating iter "}, RE: `Evaluating iter (\d+)/\d+`,
			Example: "Evaluating iter 3/10",
		}},
		Phases: []Pattern{{
			Phase: checkpoint, Literal: []string{"saving checkpoint at iteration"}, RE: `^ *saving checkpoint at iteration`,
			Example: "saving checkpoint at iteration      20 to /ckpt in torch_dist format",
		}, {
			Phase: train, Literal: []string{"successfully saved checkpoint from iteration"}, RE: `^ *successfully saved checkpoint`,
			Example: "  successfully saved checkpoint from iteration      20 to /ckpt [ t 1/1, p 1/1 ]",
		}},
	},
	{Name: "deepspeed",
		Steps: []Pattern{{
			Literal: []string{"[Rank ", "step=", "skipped="}, RE: `\[Rank \d+\] step=(\d+), skipped=`,
			Example: "[2025-03-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[0.001], mom=[(0.9, 0.999)]",
		}, {
			Literal: []string{"steps: ", "iter time (s):"}, RE: `\bsteps: (\d+) loss: `,
			Example: "steps: 20 loss: 0.6931 iter time (s): 0.105 samples/sec: 152.1",
		}},
		Phases: []Pattern{{
			Phase: checkpoint, Literal: []string{"[Torch] Saving "}, RE: `\[Torch\] Saving `,
			Example: "[2025-03-01 10:00:05,001] [INFO] [torch_checkpoint_engine.py:21:save] [Torch] Saving ckpt/global_step20/mp_rank_00_model_states.pt...",
		}, {
			Phase: train, Literal: []string{"[Torch] Checkpoint ", " is ready now"}, RE: `\[Torch\] Checkpoint \S+ is ready now`,
			Example: "[2025-03-01 10:00:09,001] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step20 is ready now!",
		}},
	},
	{Name: "torchtitan",
		Steps: []Pattern{{
			Literal: []string{"step:", "loss:", "tps"}, RE: `(?:^|\s)step: *(\d+) +loss:`,
			Example: "[rank0]:[titan] 2025-03-01 10:00:00,000 - root - INFO - step: 10  loss:  7.1234  grad_norm:  1.2345  memory:  1.23GiB(1.56%)  tps: 12,345  tflops: 12.34  mfu: 1.23%",
		}, {
			Phase: eval, Literal: []string{"validate step:"}, RE: `validate step: *(\d+)`,
			Example: "[rank0]:[titan] 2025-03-01 10:00:00,000 - root - INFO - validate step: 10  loss:  7.1234  memory:  1.23GiB(1.56%)",
		}},
		Phases: []Pattern{{
			Phase: checkpoint, Literal: []string{"Saving the checkpoint"}, RE: `Saving the checkpoint`,
			Example: "[rank0]:[titan] 2025-03-01 10:00:00,000 - root - INFO - Saving the checkpoint (or staging if async is enabled).",
		}, {
			Phase: train, Literal: []string{"Finished saving the checkpoint"}, RE: `Finished saving the checkpoint`,
			Example: "[rank0]:[titan] 2025-03-01 10:00:00,000 - root - INFO - Finished saving the checkpoint (or staging if async is enabled)in 1.25 seconds.",
		}},
	},
	{Name: "lightning",
		Steps: []Pattern{{
			Literal: []string{"Epoch ", "it/s"}, RE: `\bEpoch \d+: +` + bar,
			Example: "Epoch 0:  12%|█▏        | 120/1000 [00:30<03:40,  4.00it/s, v_num=0, train_loss=0.512]",
		}, {
			Literal: []string{"Epoch ", "it/s"}, RE: `\bEpoch \d+/\d+ .*? (\d+)/(?P<of>\d+) \d+:\d\d:\d\d • `,
			Example: "Epoch 0/9  ━━━━━━━━━━━━━━━━━━━━━━ 120/1000 0:00:30 • 0:03:40 4.00it/s v_num: 0.000",
		}, {
			Phase: eval, Literal: []string{"DataLoader ", "|"}, RE: `\b(?:Validation|Sanity Checking) DataLoader \d+: +` + bar,
			Example: "Validation DataLoader 0:  50%|█████     | 5/10 [00:01<00:01,  4.91it/s]",
		}},
	},
	{Name: "keras",
		Steps: []Pattern{{
			Literal: []string{"/step - "}, RE: `(?:^|\s)(\d+)/(?:(?P<of>\d+)|Unknown) [━=\[>.\]\x1b\[0-9m]* *\d+[a-z]+ \d+[a-zµ]+/step - `,
			Example: " 12/938 ━━━━━━━━━━━━━━━━━━━━ 1s 2ms/step - accuracy: 0.1042 - loss: 2.3041",
		}, {
			Literal: []string{" - ETA: "}, RE: `(?:^|\s)(\d+)/(?P<of>\d+) \[[=>.]+\] - ETA: `,
			Example: " 12/938 [..............................] - ETA: 1:02 - loss: 2.3041 - accuracy: 0.1042",
		}},
	},
	{Name: "tf",
		Steps: []Pattern{{
			Literal: []string{"loss = ", "step = "}, RE: `\bloss = \S+, step = (\d+)`,
			Example: "INFO:tensorflow:loss = 0.5123, step = 200 (1.204 sec)",
		}},
		Phases: []Pattern{{
			Phase: checkpoint, Literal: []string{"Saving checkpoints for "}, RE: `Saving checkpoints for \d+ into`,
			Example: "INFO:tensorflow:Saving checkpoints for 200 into /ckpt/model.ckpt.",
		}},
	},
	{Name: "fairseq",
		Steps: []Pattern{{
			Literal: []string{"| train_inner | epoch"}, RE: `\| train_inner \| epoch \d+: +(\d+) / (?P<of>\d+) `,
			Example: "2025-03-01 10:00:00 | INFO | train_inner | epoch 001:    100 / 1000 loss=10.2, ppl=1176.3, wps=1234.5",
		}},
	},
	{Name: "composer",
		Steps: []Pattern{{
			Literal: []string{"[batch="}, RE: `\[batch=(\d+)/(?P<of>\d+)\]`,
			Example: "[batch=10/1000]:",
		}},
	},
	{Name: "hf",
		Steps: []Pattern{{
			Literal: []string{"%|", "it"}, RE: `^ *` + bar + `[0-9:]+<[0-9:?]+, +(?:\?|[0-9.]+)(?:it/s|s/it)`,
			Example: " 12%|█▏        | 120/1000 [00:30<03:40,  4.00it/s]",
		}},
	},
}

func init() {
	for i := range profiles {
		profiles[i].prepare()
	}
}

// prepare makes the patterns ready to be compiled when they are first needed.
func (p *Profile) prepare() {
	for _, list := range [][]Pattern{p.Steps, p.Phases} {
		for i := range list {
			list[i].once = new(sync.Once)
		}
	}
}

// Profiles are the frameworks that are known, by name.
func Profiles() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// Find returns the profile of that name, nil where there is none.
func Find(name string) *Profile {
	for i := range profiles {
		if profiles[i].Name == name {
			return &profiles[i]
		}
	}
	return nil
}

// mostPattern bounds a pattern of the user's own, in bytes.
const mostPattern = 1000

// Custom is a profile of one pattern, whose first group is the number of the step. It fails where that is no pattern, has no
// group, or is longer than 1000 bytes.
func Custom(re string) (*Profile, error) {
	if len(re) > mostPattern {
		return nil, fmt.Errorf("the pattern has more than %d bytes", mostPattern)
	}
	compiled, err := regexp.Compile(re)
	if err != nil {
		return nil, err
	}
	if compiled.NumSubexp() < 1 {
		return nil, errors.New(`the pattern has no group that finds the number, as in "step (\d+)"`)
	}
	p := &Profile{Name: "step-regex", Steps: []Pattern{{RE: re}}}
	p.prepare()
	return p, nil
}

// find returns what the pattern's first group finds in the line, and whether that is the last of its loop.
func (p *Pattern) find(line []byte) (number []byte, last, found bool) {
	if !containsAll(line, p.Literal) {
		return nil, false, false
	}
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.RE) })
	m := p.compiled.FindSubmatch(line)
	if len(m) < 2 {
		return nil, false, m != nil
	}
	if of := p.compiled.SubexpIndex("of"); of > 1 {
		last = bytes.Equal(m[1], m[of])
	}
	return m[1], last, true
}
