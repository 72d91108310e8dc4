package checkpoint

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
)

// TestSeriesThatArePassedOver has directories with what is of more than one training run. Each says one thing: which is
// resumed from and what is passed over, or which is meant.
func TestSeriesThatArePassedOver(t *testing.T) {
	const (
		known   = "\x80\x02}(X\x04\x00\x00\x00stepK\x05X\x05\x00\x00\x00optimK\x01u." // {"step": 5, ...}
		unknown = "\x80\x02cagent\nBuffer\n)\x81."                                    // an object of the script's own
	)
	const counter = "\x80\x02}(X\x01\x00\x00\x00wcnumpy.core.multiarray\n_reconstruct\n)RX\x04\x00\x00\x00doneK\xc8u." // {"w": …, "done": 200}
	at := func(data string, minute int) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(data), ModTime: saved.Add(time.Duration(minute) * time.Minute)}
	}
	for name, tt := range map[string]struct {
		files    fstest.MapFS
		chosen   string
		says     []string // in the warnings
		warnings int      // 0: one
		asks     bool
	}{
		"two in one directory, of one time": {files: fstest.MapFS{"gpt_5.pkl": at(known, 1), "vit_5.pkl": at(known, 1)}, asks: true},
		"two below, and a third": {files: fstest.MapFS{"gpt/ckpt_5.pkl": at(known, 1), "vit/ckpt_5.pkl": at(known, 1), "bert/ckpt_5.pkl": at(known, 2)},
			asks: true},
		"two in one directory, one of them later": {files: fstest.MapFS{"gpt_step4.pkl": at(known, 1), "gpt_step5.pkl": at(known, 1), "vit_step5.pkl": at(known, 2)},
			chosen: "vit_step5.pkl", says: []string{"gpt_step5.pkl (and 1 more like it), by the names not of the training run of vit_step5.pkl"}},
		"a buffer by its name alone, and later": {files: fstest.MapFS{"agent_step5.pkl": at(known, 1), "buffer_step5.pkl": at(unknown, 2)},
			chosen: "agent_step5.pkl", says: []string{"buffer_step5.pkl, by the names"}},
		"weights with a counter of its own, and later than the best": {
			files:  fstest.MapFS{"best.pt": at(known, 1), "gpt_200.pt": at(counter, 2)},
			chosen: "gpt_200.pt", says: []string{"best.pt, by the names"}, warnings: 2},
		"an object of its own steps, and later than what it was begun from": {
			files:  fstest.MapFS{"pretrain_epoch_5.pkl": at(known, 1), "finetune_step200.pkl": at(unknown, 2)},
			chosen: "finetune_step200.pkl", says: []string{"by its name alone", "pretrain_epoch_5.pkl, by"}, warnings: 2},
		"by its name alone, and nothing else": {files: fstest.MapFS{"ckpt_step5.pkl": at(unknown, 2)},
			chosen: "ckpt_step5.pkl", says: []string{"by its name alone", "was found in it; this way"}},
	} {
		s := Scanner{FS: tt.files}
		s.Options.Level = format.Manifests
		scan, err := s.Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o, err := Policy{Ways: Ways{Ignore: "this way"}}.Offer(scan, History{}, Run{}, saved.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if tt.asks {
			if !o.Asks || o.Veto == nil || len(o.Warnings) > 0 || !o.First().Fresh() {
				t.Errorf("%s: %+v", name, o)
			}
			continue
		}
		c := Policy{}.At(scan, History{}, o.First())
		if c == nil || c.Path != tt.chosen || o.Veto != nil || len(o.Warnings) != max(1, tt.warnings) {
			t.Errorf("%s: %+v, %+v", name, c, o)
			continue
		}
		if slices.ContainsFunc(tt.says, func(s string) bool { return !strings.Contains(strings.Join(o.Warnings, "\n"), s) }) {
			t.Errorf("%s: %q", name, o.Warnings)
		}
	}
}
