package exitcodes

import (
	"bytes"
	"slices"
)

// emptied tells data from checkpoints where a pickle is empty, which reads alike: no other checkpoint helps against a file of the data
// set that is. The frames say what was being read.
func (r *reader) emptied(c *chain, s said) said {
	if s.match.Rule.Name != "ckpt.corrupt" {
		return s
	}
	if c.last().class != "EOFError" {
		return r.ofModel(c, s)
	}
	if r.framesName(c, ofData, ofCheckpoints, false) {
		s.match.Rule = deterministic("data", "DataCorrupt").rule()
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

// ofModel tells a model that somebody has given from a checkpoint of the run, where its file is broken: that stays so. The frames say
// that it is one, and not that a run is resumed.
func (r *reader) ofModel(c *chain, s said) said {
	if r.framesName(c, ofModels, ofRuns, true) {
		s.match.Rule = deterministic("data", "DataCorrupt").afterProgress().rule()
	}
	return s
}

var (
	ofRuns        = [][]byte{[]byte("load_checkpoint"), []byte("ckpt"), []byte("resum"), []byte("restor"), []byte("trainer"), []byte("latest")}
	ofModels      = [][]byte{[]byte("from_pretrained"), []byte("pretrained"), []byte("model_path"), []byte("gradio"), []byte("inference"), []byte("predict"), []byte("webui"), []byte("load_model(")}
	ofCheckpoints = [][]byte{[]byte("serialization.py"), []byte("checkpoint"), []byte("ckpt"), []byte("resum"), []byte("restor"), []byte("state_dict"), []byte("weight")}
	ofData        = [][]byte{[]byte("dataset"), []byte("data_set"), []byte("dataloader"), []byte("data_loader"), []byte("/data/"), []byte("datamodule"), []byte("annotation")}
)
