package format

import (
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// sureKeys are the names of steps and of epochs that mean the same in every file of a save.
var sureKeys = set("global_step step iteration iter epoch")

// stepKeys are the names under which programs keep how far they are, the surest first; epochKeys count epochs. Where there
// are several, one that agrees with the name goes before them all (settle).
var (
	// A step of the optimizer goes before an iteration, which may be one micro batch of it, and before a step, which may be
	// one of its epoch.
	stepKeys = []string{"global_step", "optimizer_step", "optimizer_steps", "opt_step", "step", "global_steps", "step_count", "current_step",
		"train_step", "train_steps", "training_step", "total_steps_done", "step_num", "step_nr", "last_step", "step_idx",
		"num_steps_done", "steps_completed", "completed_steps", "steps_done", "num_steps_completed", "last_train_step", "global_train_step",
		"num_updates", "n_updates", "update", "updates", "number_training_updates", "num_updates_done", "global_update",
		"iteration", "iter", "steps", "it", "iter_num", "iteration_num", "num_steps", "n_iter", "niter", "iterations", "steps_run",
		"global_iter", "global_iteration", "itr", "current_iteration", "current_iter", "cur_iter", "last_iter", "train_iter",
		"training_iteration", "iteration_count", "n_total_iter", "batch_idx_train", "istep", "num_timesteps", "global_timestep", "collected_frames", "env_steps", "total_env_steps", "batches", "batch_count"}
	epochKeys = []string{"epoch", "epochs", "current_epoch", "epoch_num", "cur_epoch", "epochs_run", "num_epochs_done", "finished_epoch",
		"finished_epochs", "epochs_done", "epochs_completed", "completed_epochs", "num_epochs_completed", "last_epoch", "start_epoch", "iepoch",
		"epoch_idx", "epoch_nr", "ep", "episode", "i_episode", "episode_num", "current_episode", "generation"}
	// within are the keys of dicts in which a step may stand. Those of an optimizer's state count something else.
	within = set("state meta metadata trainer trainer_state training_state train_state trainstate progress train_progress training_progress " +
		"info train_info train_infos requeue_stats extra extra_state counters counts loop misc status training run_state client_state timestamp")
	// moreWords are in the keys of what training needs to resume, besides an optimizer.
	moreWords = []string{"sched", "rng", "random_state", "rndstate", "dataloader", "data_loader", "sampler", "loops", "callbacks"}
	// aboutWords are in the keys of what says something about weights, or about what made them.
	aboutWords = []string{"config", "arg", "hparam", "hyper", "cfg", "arch", "class", "version", "best", "acc", "loss", "metric", "val", "name",
		"vocab", "size", "dim", "num_", "n_", "dtype", "format", "seed", "opt_level", "param_names", "shape", "label", "buffers", "_metadata"}
)

// optimizerKey reports whether a key, in lower case, is one under which the state of an optimizer is kept.
func optimizerKey(key string) bool {
	return strings.Contains(key, "optim") || key == "opt" || key == "opt_state" || key == "adam" || key == "adamw" || key == "sgd" ||
		strings.HasPrefix(key, "opt_") && key != "opt_level" || strings.HasSuffix(key, "_opt")
}

// moreKey reports whether a key, in lower case, is one of what training needs to resume, besides an optimizer. What scales the
// gradients is, and what scales the data is a part of the model.
func moreKey(key string, v *file.Shape) bool {
	return has(key, moreWords) || strings.Contains(key, "scaler") && !has(key, ofData) &&
		!slices.ContainsFunc(v.Keys, func(k string) bool { return scalesData[strings.ToLower(k)] })
}

// ofData are in the keys of what scales the data, and scalesData are the keys of it.
var (
	ofData     = []string{"data", "feature", "feat", "target", "label", "input", "output", "descriptor", "x_", "y_", "_x", "_y"}
	scalesData = set("mean means std stds mean_ scale_ var_ min_ max_ data_min_ data_max_ center_")
)

func has(key string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(key, w) })
}
