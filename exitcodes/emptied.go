package exitcodes

import "bytes"

// emptied tells data from checkpoints where a pickle is empty, which reads alike: no other checkpoint helps against a file of the data
// set that is. The frames say what was being read.
func (r *reader) emptied(c *chain, s said) said {
	if s.match.Rule.Name != "ckpt.corrupt" || c.last().class != "EOFError" {
		return s
	}
	data := false
	for _, i := range c.frames {
		text := bytes.ToLower(r.lines[i].text[:min(len(r.lines[i].text), 300)])
		r.meter.pass(2, len(text))
		for _, word := range ofCheckpoints {
			if bytes.Contains(text, word) {
				return s
			}
		}
		for _, word := range ofData {
			data = data || bytes.Contains(text, word)
		}
	}
	if data {
		s.match.Rule = deterministic("data", "DataCorrupt").rule()
	}
	return s
}

var (
	ofCheckpoints = [][]byte{[]byte("serialization.py"), []byte("checkpoint"), []byte("ckpt"), []byte("resum"), []byte("restor"), []byte("state_dict"), []byte("weight")}
	ofData        = [][]byte{[]byte("dataset"), []byte("data_set"), []byte("dataloader"), []byte("data_loader"), []byte("/data/"), []byte("datamodule"), []byte("annotation")}
)
