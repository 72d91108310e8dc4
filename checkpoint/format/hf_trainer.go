package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// hfTrainer is the output directory of the Trainer of Hugging Face's transformers: checkpoint-500 and so on
// (_save_checkpoint in transformers/trainer.py, get_last_checkpoint in trainer_utils.py).
//
// The first rank writes the weights, the optimizer, the scheduler, its generators' state and then trainer_state.json,
// in place and without a temporary name. The other ranks write only the state of their generators, and nobody waits
// for them: that they all have is told by the number of processes in training_args.bin, which was pickled before.
var hfTrainer = kind{name: "hf_trainer", find: findHFTrainer, check: checkHFTrainer, claims: claimedByHfTrainer, movable: true}

const (
	hfState = "trainer_state.json"
	hfArgs  = "training_args.bin"
	// hfIncomplete is there while a checkpoint is saved that a signal has asked for (trainer_jit_checkpoint.py).
	hfIncomplete = "checkpoint-is-incomplete.txt"
	// hfStaging is what the releases around 4.36 saved into before they renamed it.
	hfStaging = "tmp-checkpoint-"
	fsdpModel = "pytorch_model_fsdp"
)

func findHFTrainer(l *look, root *dir) (found []*Checkpoint, err error) {
	for _, name := range root.dirs(func(string) bool { return true }) {
		if step, ok := hfStep(name); ok {
			found = append(found, &Checkpoint{Path: root.join(name), Tag: name, Step: step, StepFrom: StepFromName})
		}
	}
	if others, err := l.notTrainers(found); err != nil || others {
		return nil, err
	}
	return found, nil
}

// notTrainers reports whether saves under the Trainer's names were written by what is not the Trainer of today, as it was
// before it wrote its state, or by a script's own loop: each has an optimizer, and none what the Trainer writes behind that.
// Of its own only the first can have died before.
func (l *look) notTrainers(found []*Checkpoint) (bool, error) {
	newest := slices.SortedStableFunc(slices.Values(found), newestFirst)
	saves := 0
	for _, c := range newest[:min(len(newest), maxTrainerLooks)] {
		d, err := l.dir(c.Path)
		switch {
		case err != nil && l.ctx.Err() != nil:
			return false, err
		case err != nil, d.has(hfState), d.has(hfIncomplete), len(startingWith(d, "rng_state")) > 0, strings.HasPrefix(c.Tag, hfStaging):
			return false, nil // what cannot be read may be anything
		case d.isFile("optimizer.pt"):
			saves++
		}
	}
	return saves > 1, nil
}

// maxTrainerLooks is how many directories are looked into to learn who wrote them.
const maxTrainerLooks = 4

// hfBeside are files that save_pretrained writes beside weights.
var hfBeside = set("config.json generation_config.json adapter_config.json tokenizer.json tokenizer_config.json special_tokens_map.json " +
	"added_tokens.json vocab.json vocab.txt merges.txt spiece.model tokenizer.model preprocessor_config.json chat_template.json " +
	"chat_template.jinja processor_config.json README.md")

// claimedByHfTrainer tells a checkpoint of the Trainer from those of Accelerate, of scripts around it and of programs of
// somebody's own, who use the same names.
func claimedByHfTrainer(l *look, c *Checkpoint) (claim, error) {
	return l.claimDir(c, func(d *dir) (claim, error) {
		switch {
		case len(d.files(func(name string) bool { return strings.HasSuffix(name, ".pdparams") })) > 0:
			return no, nil // PaddleNLP's, of the same names but for these
		case d.has(hfState), d.has(hfArgs), d.has("rng_state.pth"), d.has("rng_state_0.pth"), d.has(hfIncomplete):
			return yes, nil
		case strings.HasPrefix(c.Tag, hfStaging):
			return yes, nil
		case len(ranksOf(d, accelerateRanks, ".pkl")) > 0:
			return no, nil
		}
		if is, _ := ofAccelerate(d); is {
			return no, nil
		}
		// Of a save that was cut, or that is being removed, the rest is left. What training_args.bin is written before is
		// nothing of the Trainer's without it.
		for _, name := range d.names {
			_, fsdp := numbered(name, fsdpModel+"_", "")
			if !isHFWeights(name) && !fsdp && !hfBeside[name] && name != deepSpeedPointer && !strings.HasPrefix(name, "global_step") &&
				!strings.HasPrefix(name, "rng_state_") && !strings.HasPrefix(name, "optimizer_") {
				return no, nil
			}
		}
		return maybe, nil
	})
}

func hfStep(name string) (int64, bool) {
	return numbered(strings.TrimPrefix(name, "tmp-"), "checkpoint-", "")
}

func checkHFTrainer(l *look, c *Checkpoint) error {
	if strings.HasPrefix(c.base(), hfStaging) {
		return problem.New(problem.InProgress, "%s is where a checkpoint is put together", c.Path)
	}
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	if d.has(hfIncomplete) {
		return problem.New(problem.UnfinishedMarker, "%s is there", d.join(hfIncomplete))
	}
	if !d.has(hfState) {
		ofTrainer, err := l.argsOfTrainer(d)
		if err != nil {
			return err
		}
		c.Unmarked = !ofTrainer && d.has("scheduler.pt") && l.endsWith(d.join("optimizer.pt"))
		return problem.New(problem.NoMarker, "%s is missing, which is written last", d.join(hfState))
	}
	state, err := l.stat(d.join(hfState))
	if err != nil {
		return err
	}
	if state.Size() == 0 {
		return problem.New(problem.EmptyFile, "%s is empty", d.join(hfState))
	}
	if err := checkHFState(l, c, d.join(hfState), state.Size()); err != nil {
		return err
	}
	c.Basis, c.Elastic, c.Training = BasisMarker, true, true
	engine, err := checkHFWeights(l, c, d)
	if err != nil {
		return err
	}
	optimizer, err := checkHFOptimizer(l, c, d, engine)
	if err != nil {
		return err
	}
	if optimizer {
		if err := checkHFRanks(l, c, d); err != nil {
			return err
		}
	}
	c.Size += state.Size()
	return l.marked(c, d.join(hfState), state.ModTime(), c.parts)
}

// argsOfTrainer reports whether the arguments are those of the Trainer, which writes its state in each save. Loops of one's own
// save those of argparse under the same name.
func (l *look) argsOfTrainer(d *dir) (bool, error) {
	if !d.has(hfArgs) {
		return false, nil
	}
	args, err := l.savedHead(d.join(hfArgs), maxSavedHead)
	return args.after("save_strategy") != nil, err
}

// checkHFOptimizer looks at what training resumes from besides the weights. The Trainer loads the optimizer's and the
// scheduler's state only when both are there; otherwise it begins with new ones and does not say so
// (_load_optimizer_and_scheduler).
func checkHFOptimizer(l *look, c *Checkpoint, d *dir, engine hfEngine) (optimizer bool, err error) {
	var paths []string
	for _, name := range []string{"optimizer.pt", "optimizer.bin", "scheduler.pt", "scaler.pt"} {
		if d.has(name) {
			paths = append(paths, d.join(name))
		}
	}
	if _, err := checkTorchAll(l, c, paths); err != nil {
		return false, err
	}
	optimizer = engine == hfDeepSpeed || d.has("optimizer.pt") || d.has("optimizer.bin")
	// The Trainer takes any directory, and any file of a rank, with this in its name.
	for _, name := range d.names {
		optimizer = optimizer || d.isDir(name) && strings.Contains(name, "optimizer") ||
			strings.HasSuffix(name, "-optimizer.pt") || engine == hfFSDP && strings.HasPrefix(name, "optimizer_")
	}
	scheduler := d.has("scheduler.pt") || engine == hfDeepSpeed
	switch {
	case !optimizer && !scheduler:
		c.weightsOnly("%s holds neither the optimizer nor the scheduler", d.path)
	case !optimizer:
		c.weightsOnly("%s has no optimizer.pt: the Trainer would skip scheduler.pt as well, and not say so", d.path)
	case !scheduler:
		c.weightsOnly("%s has no scheduler.pt: the Trainer would skip the optimizer as well, and not say so", d.path)
	}
	return optimizer, nil
}

// checkHFRanks wants the state of the generators of every rank. A rank that finds none continues with another sequence
// of random numbers.
func checkHFRanks(l *look, c *Checkpoint, d *dir) error {
	set := ranksOf(d, "rng_state_", ".pth")
	world, known, everyNode, err := hfWorld(l, d)
	if err != nil {
		return err
	}
	single := d.has("rng_state.pth")
	low, high := int64(0), int64(0) // of the ranks that have to be there
	switch {
	case known && world == 1 && (single || len(set) == 0), !known && single && len(set) == 0:
		if !single {
			return problem.New(problem.MissingRankState, "%s is missing", d.join("rng_state.pth"))
		}
		world = 1
	case known && everyNode && len(set) > 0:
		// Each node has a directory of its own with its own ranks.
		low, high = set[0], set[len(set)-1]+1
	case known && world > 1:
		high = world
	case len(set) == 0:
		return problem.New(problem.MissingRankState, "%s holds no rng_state*.pth", d.path)
	default:
		if high = set[len(set)-1] + 1; known {
			high = max(high, 2) // files with numbers are those of several, whatever the arguments say
		}
		world = high
	}
	var paths []string
	if high == 0 {
		paths = append(paths, d.join("rng_state.pth"))
	}
	for rank := low; rank < high; rank++ {
		if !set.has(rank) {
			return problem.New(problem.MissingRankState, "%s is missing: %d of %d are there",
				d.join(fmt.Sprintf("rng_state_%d.pth", rank)), len(set), world)
		}
		paths = append(paths, d.join(fmt.Sprintf("rng_state_%d.pth", rank)))
	}
	c.WorldSize = int(world)
	// They may be younger than the marker, and so do not count into the checkpoint's time.
	ranks := Checkpoint{Level: c.Level}
	_, err = checkTorchAll(l, &ranks, paths)
	c.Size += ranks.Size
	return err
}

// hfWorld is the number of processes, as the pickled arguments of the training have it, and whether each node saves.
func hfWorld(l *look, d *dir) (world int64, known, everyNode bool, err error) {
	if l.Level < Ends || !d.has(hfArgs) {
		return 0, false, false, nil
	}
	args, err := l.saved(d.join(hfArgs))
	if err != nil {
		return 0, false, false, err
	}
	world, known = args.number("num_processes")
	return world, known && 0 < world && world <= maxRanks, args.yes("save_on_each_node"), nil
}
