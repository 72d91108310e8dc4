package format

import (
	"path"
	"slices"
	"strings"
)

// strongEndings are those that only what a training script writes has.
var strongEndings = []string{".pt", ".pth", ".ckpt", ".safetensors", ".keras", ".h5", ".th", ".chkpt", ".hdf5", ".checkpoint", ".t7", ".pt7"}

// weakEndings are those that data has as well: what is in such a file says what it is.
var weakEndings = []string{".bin", ".tar", ".pkl", ".pickle", ".npz", ".gz", ".msgpack", ".joblib", ".zip", ".weights", ".model", ".state", ".tgz", ".npy",
	".params", ".pdparams", ".pdopt", ".zst", ".xz", ".bz2", ".lz4", ".torch", ".mpk", ""}

// ownEnding reports whether an ending may be one of somebody's own: step_100.eqx, checkpoint.npz-000001000. What a copy
// puts behind a known one while it writes is not: ckpt.pt.6bE5Ba1F.
func ownEnding(name, ext string) bool {
	known, number, numbered := strings.Cut(ext, "-")
	if _, ok := digits(number); numbered && ok && slices.Contains(endings, known) {
		return true
	}
	return len(ext) <= 10 && (!strings.ContainsAny(ext, "0123456789-") || versionedEnding(ext)) && !slices.Contains(otherEndings, ext) &&
		!slices.Contains(endings, strings.ToLower(path.Ext(strings.TrimSuffix(name, path.Ext(name)))))
}

// versionedEnding reports whether an ending has one digit behind its letters, as that of a format has whose version it is: .pt7.
func versionedEnding(ext string) bool {
	if len(ext) < 4 || len(ext) > 5 || !digit(ext[len(ext)-1]) || strings.ContainsFunc(ext[1:len(ext)-1], func(r rune) bool { return r < 'a' || 'z' < r }) {
		return false
	}
	word := ext[1 : len(ext)-1]
	return !stepWords[word] && !epochWords[word] && !rankWords[word] && !partWords[word] && !otherWords[word] && !slotWords[word] && roleWords[word] == ""
}

// otherEndings are those of what stands beside checkpoints with a step in its name.
var otherEndings = []string{".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".txt", ".log", ".csv", ".tsv", ".md", ".html", ".xml",
	".py", ".sh", ".cfg", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".webp", ".mp4", ".wav", ".flac", ".mp3", ".lock", ".done",
	".md5", ".sha256", ".meta", ".distcp", ".index", ".parquet", ".onnx", ".engine", ".gguf", ".tflite", ".tfrecord", ".part", ".partial", ".swp"}

// fileKind says how sure a name is that of a file with tensors. own says that its ending is one that nobody is known to use.
func fileKind(name string) (strong, weak, own bool) {
	if strings.HasPrefix(name, ".") && !hiddenState(name) || dullNames[name] || isTemporary(name) || strings.HasSuffix(name, "~") {
		return false, false, false
	}
	name = strings.TrimPrefix(name, ".")
	name, _ = withoutBackup(name)
	ext := strings.ToLower(path.Ext(name))
	if !isEnding(name, ext) {
		if isLog(strings.ToLower(strings.TrimSuffix(name, ext))) {
			return false, false, false
		}
		ext = "" // model.100
	}
	if slices.Contains(strongEndings, ext) {
		return true, false, false
	}
	if strings.HasSuffix(stemExt(name), ".pth.tar") || strings.HasSuffix(stemExt(name), ".pt.gz") {
		return true, false, false
	}
	if ext == ".bin" && isHFWeights(name) {
		return true, false, false
	}
	t := titleOf(withoutOwn(name))
	weak = slices.Contains(weakEndings, ext) || strings.Contains(name, "=") && t.step >= 0 && !slices.Contains(otherEndings, ext) // epoch=3-loss=0.25
	return false, weak, !weak && (likelyOwn(name, ext, t) || ext != "" && ownEnding(name, ext))
}

// isEnding reports whether what stands behind the last point of a name is an ending, and no part of the name: a number
// (model.100, lr0.001-wu0_ep80), more than one word (ckpt.t7mixup_2), a step behind an ending (model.pth.epoch3). What is in
// such a file says what it is.
func isEnding(name, ext string) bool {
	known, number, numbered := strings.Cut(ext, "-")
	_, count := digits(number)
	word, _, _ := strings.Cut(strings.NewReplacer("_", " ", "-", " ", "=", " ").Replace(ext), " ")
	switch {
	case ext == "", numbered && count && slices.Contains(endings, known), slices.Contains(otherEndings, word),
		word == ".data" && word != ext: // of a bundle of tensors
		return true
	case strings.Trim(ext[1:], "0123456789") == "":
		return false
	case slices.Contains(endings, strings.ToLower(path.Ext(strings.TrimSuffix(name, path.Ext(name))))):
		ps := pieces(ext[1:])
		return len(ps) != 2 || !ps[1].number || len(ps[0].text) < 2 || !stepWords[ps[0].text] && !epochWords[ps[0].text]
	}
	return word == ext && letter(ext[1])
}

// likelyOwn reports whether a name, with an ending that nobody is known to use, says that it may be that of a state. What is in
// the other files has to say so without doubt.
func likelyOwn(name, ext string, t title) bool {
	switch likely := t.named || checkpointName(name); {
	case saysState(ext), slices.Contains(checkpointEndings, ext), ofAnother(name):
		return true
	case slices.Contains(opaqueEndings, ext):
		return likely || t.step >= 0 || t.slot != ""
	case ext == ".gguf": // of a fine-tuning run, and not one that is there to be used
		return likely
	default:
		return (likely || (t.step >= 0 || t.slot != "") && (t.roles != "" || t.family == "")) && ownEnding(name, ext)
	}
}

// isLog reports whether a name, without the number at its end, is that of what a program writes along the way: a log that
// was rotated, or TensorBoard's events, whose files end in numbers of the writer.
func isLog(name string) bool {
	return slices.Contains(otherEndings, path.Ext(name)) || strings.Contains(name, ".tfevents.")
}

func stemExt(name string) string { return strings.ToLower(name) }

// dullNames are files that stand beside checkpoints without being any, though their endings do not say so.
var dullNames = set("README LICENSE Makefile Dockerfile latest_checkpointed_iteration latest_train_state.pt hparams version DONE done _SUCCESS " + hfArgs)
