package exitcodes

import (
	"bytes"
	"slices"
	"strings"
)

// emptied tells a file that stays broken from a checkpoint of the run, beside which there may be a whole one: a pickle that is empty,
// data that is no pickle, and a model that somebody has given. The frames say what was being read. An empty pickle that is neither a
// checkpoint nor a message of another process is a file that the program has chosen, and will choose again.
func (r *reader) emptied(c *chain, s said) said {
	switch rule := &s.match.Rule; {
	case rule.Name == "pickle.empty" && r.framesName(c, ofPassing, nil, false),
		rule.Name == "ckpt.no_pickle" && strings.Contains(s.match.Line, "deserializing header") && r.framesName(c, ofPassing, ofGiven, false):
		rule.Verdict, rule.AfterProgress, rule.Reason = Retry, "", "CheckpointCorrupt"
	case rule.Name == "ckpt.corrupt" && (r.framesName(c, ofModels, ofRuns, true) || strings.Contains(s.match.Line, "invalid load key") && r.readsData(c)):
		*rule = deterministic("data", "DataCorrupt").afterProgress().rule()
	}
	return s
}

// readsData reports whether the frames of a chain load a file that is data, and no checkpoint.
func (r *reader) readsData(c *chain) bool {
	return r.framesName(c, ofPickles, ofPassing, false) || r.framesName(c, ofTorch, ofPassing, false) && r.framesName(c, ofData, nil, false)
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
	ofRuns    = [][]byte{[]byte("load_checkpoint"), []byte("ckpt"), []byte("resum"), []byte("restor"), []byte("trainer"), []byte("latest")}
	ofModels  = [][]byte{[]byte("from_pretrained"), []byte("pretrained"), []byte("model_path"), []byte("gradio"), []byte("inference"), []byte("predict"), []byte("webui"), []byte("load_model(")}
	ofGiven   = [][]byte{[]byte("from_pretrained")}
	ofPickles = [][]byte{[]byte("pickle.load(")}
	ofTorch   = [][]byte{[]byte("torch.load(")}
	ofData    = [][]byte{[]byte("dataset"), []byte("data_set"), []byte("dataloader"), []byte("data_loader"), []byte("datamodule"), []byte("annotation")}
	// ofPassing are those of a run that is resumed, of messages between processes, and of caches that are made again.
	ofPassing = [][]byte{[]byte("checkpoint"), []byte("ckpt"), []byte("resum"), []byte("restor"), []byte("restart"), []byte("snapshot"), []byte("load_state"), []byte("latest"),
		[]byte("optimizer"), []byte("multiprocessing/"), []byte("distributed_c10d"), []byte("zmq"), []byte("queue"), []byte("/ray/"), []byte("cache"), []byte(".loads(")}
)
