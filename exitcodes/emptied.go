package exitcodes

import (
	"bytes"
	"slices"
	"strings"
)

// emptied tells a file that stays broken from a checkpoint of the run, beside which there may be a whole one: a pickle that is empty,
// data that is no pickle, and a model that somebody has given. The frames say what was being read. An empty pickle is taken for a
// checkpoint only where they say so: the program has chosen that file, and will choose it again.
func (r *reader) emptied(c *chain, s said) said {
	switch rule := &s.match.Rule; {
	case rule.Name == "pickle.empty" && r.framesName(c, ofCheckpoints, ofData, false):
		rule.Verdict, rule.AfterProgress, rule.Reason = Retry, "", "CheckpointCorrupt"
	case rule.Name == "ckpt.corrupt" && (r.framesName(c, ofModels, ofRuns, true) || strings.Contains(s.match.Line, "invalid load key") && r.framesName(c, ofPickles, ofCheckpoints, false)):
		*rule = deterministic("data", "DataCorrupt").afterProgress().rule()
	}
	return s
}

// framesName reports whether a frame of a chain has one of the words, and none has one of those that tell against it. Some words are
// meant of functions alone, not of what a directory is called.
func (r *reader) framesName(c *chain, words, against [][]byte, functions bool) bool {
	has := func(text []byte, words [][]byte) bool {
		return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(text, word) })
	}
	named := false
	for _, i := range c.frames {
		text := bytes.ToLower(r.lines[i].text[:min(len(r.lines[i].text), 300)])
		r.meter.pass(2, len(text))
		if has(text, against) {
			return false
		}
		if _, function, found := bytes.Cut(text, []byte(", in ")); found && functions {
			text = function
		}
		named = named || has(text, words)
	}
	return named
}

var (
	ofRuns        = [][]byte{[]byte("load_checkpoint"), []byte("ckpt"), []byte("resum"), []byte("restor"), []byte("trainer"), []byte("latest")}
	ofModels      = [][]byte{[]byte("from_pretrained"), []byte("pretrained"), []byte("model_path"), []byte("gradio"), []byte("inference"), []byte("predict"), []byte("webui"), []byte("load_model(")}
	ofPickles     = append([][]byte{[]byte("pickle.load(")}, ofData...)
	ofCheckpoints = [][]byte{[]byte("checkpoint"), []byte("ckpt"), []byte("resum"), []byte("restor")}
	ofData        = [][]byte{[]byte("dataset"), []byte("data_set"), []byte("dataloader"), []byte("data_loader"), []byte("/data/"), []byte("datamodule"), []byte("annotation")}
)
