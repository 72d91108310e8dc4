package objectstore

import (
	"errors"
	"net/http"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// A checkpoint in a bucket is verified as one on a disk is.
func TestFormatsLookIntoABucket(t *testing.T) {
	header := `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	whole := string([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}) + header + "01234567"
	f := newFakeS3(t, map[string]string{
		"b/run/checkpoint-100/model.safetensors":  whole,
		"b/run/checkpoint-100/trainer_state.json": `{"global_step": 100, "log_history": [{"loss": NaN}]}`,
		"b/run/checkpoint-200/model.safetensors":  whole[:len(whole)-3],
		"b/run/checkpoint-200/trainer_state.json": `{"global_step": 200}`,
	})
	fsys := f.fs(t, "s3://b/run")
	o := format.Options{Level: format.Manifests}
	found, err := format.Find(t.Context(), fsys, o)
	if err != nil || found.Format != "hf_trainer" || len(found.Checkpoints) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, want := range []struct {
		complete bool
		reason   problem.Reason
	}{{false, problem.Truncated}, {true, problem.WeightsOnly}} {
		c := found.Checkpoints[i]
		format.Check(t.Context(), fsys, c, o)
		if c.Complete != want.complete || c.Reason != want.reason || want.complete && !c.Modified.Equal(fakeTime) {
			t.Errorf("%+v, %+v expected", c, want)
		}
	}

	// Without the right to list, it is unknown; without a first save, there is nothing.
	_, err = format.Find(t.Context(), f.fs(t, "s3://b/not-yet"), o)
	if p, ok := errors.AsType[*problem.Error](err); !ok || p.Reason != problem.NoMarker {
		t.Errorf("%v", err)
	}
	f.first = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		fail(w, 403, "AccessDenied", "")
		return true
	}
	_, err = format.Find(t.Context(), f.fs(t, "s3://b/run"), o)
	if p, ok := errors.AsType[*problem.Error](err); !ok || !p.Reason.Unknown() {
		t.Errorf("%v", err)
	}
}
