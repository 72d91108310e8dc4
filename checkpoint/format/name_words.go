package format

import (
	"path"
	"slices"
	"strings"
)

// endings of files that hold tensors, of whichever library. They may stand one behind another: .pth.tar.
var endings = []string{
	".pt", ".pth", ".bin", ".ckpt", ".tar", ".pkl", ".pickle", ".npz", ".npy", ".gz", ".safetensors", ".keras", ".h5", ".hdf5",
	".th", ".t7", ".pt7", ".pdparams", ".pdopt", ".pdstates", ".msgpack", ".joblib", ".zip", ".weights", ".model", ".state", ".index", ".json", ".tgz", ".chkpt", ".checkpoint", ".params", ".torch",
	".zst", ".xz", ".bz2", ".lz4", ".caffemodel", ".solverstate", ".states", ".mdl", ".mat", ".bson", ".jld2", ".mpk", ".d3", ".tckpt", ".ot", ".eqx", ".dnn", ".ckp",
}

// backups are endings that say that a file is what another one was before, or which of several that are written over it is.
var backups = []string{".bak", ".old", ".prev", ".orig", ".backup", ".latest", ".last", ".best", ".final", ".current", ".previous", ".recent"}

// withoutBackup is a name without such an ending, and the word that it is.
func withoutBackup(name string) (rest, word string) {
	ext := path.Ext(name)
	if ext == name || !slices.Contains(backups, strings.ToLower(ext)) {
		return name, ""
	}
	return strings.TrimSuffix(name, ext), ext[1:]
}

// stemOf is a name without its endings.
func stemOf(name string) string {
	if rest, word := withoutBackup(name); word != "" && path.Ext(rest) != "" {
		return stemOf(rest) + "-" + word
	}
	if ofAnother(name) {
		return stemOf(strings.TrimSuffix(name, path.Ext(name))) + "-optimizer"
	}
	for {
		ext := path.Ext(name)
		if ext == "" || ext == name || !slices.Contains(endings, strings.ToLower(ext)) {
			return name
		}
		name = strings.TrimSuffix(name, ext)
	}
}

// endingOf is what stemOf takes off a name.
func endingOf(name string) string {
	ext := path.Ext(name)
	if rest, word := withoutBackup(name); word != "" && path.Ext(rest) != "" || ofAnother(name) {
		return endingOf(strings.TrimSuffix(name, ext)) + ext
	}
	return strings.TrimPrefix(name, stemOf(name))
}

// words of names, in lower case.
var (
	stepWords  = set("step steps gs globalstep gstep iter iters iteration iterations it its itr update updates batch batches ba tick kimg s")
	epochWords = set("epoch epochs ep eps e")
	rankWords  = set("rank worker proc process gpu card device localrank")
	// partWords stand before the number of a part of a model, of which each save has all, where the name has a step as well:
	// else the number may be that of the save.
	partWords = set("part tp pp mp zo")
	slotWords = set("latest last best final prev previous bak backup orig old new current cur recent interrupted emergency init initial " +
		"pretrained base start end top warmup")
	// pastWords are those of them that, with other words beside them, name what a run was begun from or has left behind.
	pastWords = set("previous prev bak backup orig old new init initial pretrained base start end top warmup")
	// copyWords count the copies of one save where a number follows them at once.
	copyWords = set("best copy prev")
	// endingWords are endings within a name, to which more was added: model.npz.optimizer.npz.
	endingWords = set("npz pt pth ckpt pkl safetensors hdf")
	// neutral words say no more than that it is a checkpoint, or a copy of one.
	neutralWords = set("flax checkpoint checkpoints ckpt ckpts ckpnt chkpt chkpnt ckp ckps cp save saved snapshot state states dict training trainer copy")
	roleWords    = map[string]string{
		"model": "model", "net": "model", "nets": "model", "weights": "model", "weight": "model", "params": "model", "module": "model",
		"generator": "generator", "gen": "generator", "g": "generator", "netg": "generator",
		"discriminator": "discriminator", "disc": "discriminator", "dis": "discriminator", "d": "discriminator", "netd": "discriminator",
		"critic": "critic", "actor": "actor", "policy": "policy", "value": "value", "encoder": "encoder", "decoder": "decoder",
		"ema": "ema", "optim": "optimizer", "optims": "optimizer", "opts": "optimizer", "optimizer": "optimizer", "optimiser": "optimizer", "opt": "optimizer", "optimizers": "optimizer",
		"optg": "optimizerg", "optd": "optimizerd", "adam": "optimizer", "adamw": "optimizer", "sgd": "optimizer", "momentum": "optimizer", "moments": "optimizer",
		"sched": "scheduler", "scheduler": "scheduler", "schedule": "scheduler", "schedulers": "scheduler",
		"scaler": "scaler", "gradscaler": "scaler", "amp": "scaler", "rng": "rng", "random": "rng", "sampler": "sampler",
		"dataloader": "loader", "loader": "loader", "meta": "meta", "metadata": "meta", "extra": "extra", "args": "args", "config": "args", "hparams": "args", "hyperparams": "args", "hyperparameters": "args", "cfg": "args",
	}
	// otherWords stand before numbers that are no step: a measure, a size, a version, a part.
	otherWords = set("acc accuracy loss val valloss score f f1 map miou auc bleu rouge ppl perplexity psnr ssim fid reward mse mae rmse err error " +
		"wer cer top lr seed node world size ws bs bsz fold v ver version layers layer dim hidden heads head h w l res resnet vgg vit bert gpt " +
		"llama fp bf int of part shard mp tp pp dp k exp run trial try job task stage phase replica port pid host px patch b n c p r x y z t " +
		"beta alpha tau gamma temp temperature ratio frac dropout wd bit bits gb mb kb")
	// archWords are those of them that stand before the size of a model.
	archWords = set("res resnet vgg vit bert gpt llama")
	// measures are words before numbers that say how good a model is.
	measures = set("acc accuracy loss val valloss score f f1 map miou auc bleu rouge ppl perplexity psnr ssim fid reward mse mae rmse err error " +
		"wer cer")
	plurals = set("steps iters iterations epochs updates its batches")
)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
