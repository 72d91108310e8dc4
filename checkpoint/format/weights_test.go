package format

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

const weightsIndexName = "m/model.safetensors.index.json"

func weightsShard(n, of int) string { return fmt.Sprintf("model-%05d-of-%05d.safetensors", n, of) }

// weightsSharded is the order of save_pretrained: shards, then the index.
func weightsSharded(of int) (ops []op) {
	var names []string
	for n := range of {
		names = append(names, weightsShard(n+1, of))
		ops = append(ops, write("m/"+names[n], filetest.Safetensors(10, n)))
	}
	return append(ops, write(weightsIndexName, filetest.WeightIndex(names...)))
}

func weightsSee(d *disk, level Level) (c *Checkpoint, found bool, got problem.Reason) {
	c, got = torchLook(newLook(context.Background(), d.fs(), Options{Level: level}), func(l *look, c *Checkpoint) (err error) {
		found, err = checkWeights(l, c, "m")
		return err
	})
	return c, found, got
}

func TestCheckWeights(t *testing.T) {
	whole, torch := filetest.Safetensors(3, 8), filetest.Torch([]byte("data"))
	for _, test := range []struct {
		name   string
		ops    []op
		found  bool
		shards int
		want   problem.Reason
	}{
		{"none", []op{mkdir("m")}, false, -1, ""},
		{"other files", []op{writeText("m/config.json", "{}"), write("m/optimizer.pt", torch)}, false, -1, ""},
		{"safetensors", []op{write("m/model.safetensors", whole)}, true, 1, ""},
		{"torch", []op{write("m/pytorch_model.bin", torch)}, true, 1, ""},
		{"an adapter", []op{write("m/adapter_model.safetensors", whole)}, true, 1, ""},
		{"an adapter of torch", []op{write("m/adapter_model.bin", torch)}, true, 1, ""},
		{"a model and an adapter", []op{write("m/model.safetensors", whole), write("m/adapter_model.bin", torch)}, true, 2, ""},
		{"shards", weightsSharded(3), true, 3, ""},
		{"shards of torch", []op{write("m/pytorch_model-00001-of-00001.bin", torch),
			write("m/pytorch_model.bin.index.json", filetest.WeightIndex("pytorch_model-00001-of-00001.bin"))}, true, 1, ""},
		{"shards of an earlier save", append(weightsSharded(3), write("m/"+weightsShard(1, 2), nil)), true, 3, ""},
		{"the first choice is taken", []op{write("m/model.safetensors", whole), write("m/pytorch_model.bin", nil)}, true, 1, ""},

		{"cut", []op{write("m/model.safetensors", whole[:len(whole)-1])}, true, 1, problem.Truncated},
		{"an adapter is cut", []op{write("m/model.safetensors", whole), write("m/adapter_model.bin", torch[:90])}, true, 2,
			problem.Truncated},
		{"empty", []op{write("m/model.safetensors", nil)}, true, 1, problem.EmptyFile},
		{"no index", weightsSharded(3)[:3], true, -1, problem.NoMarker},
		{"some shards", weightsSharded(3)[:1], true, -1, problem.NoMarker},
		{"a shard is missing", append(weightsSharded(3), remove("m/"+weightsShard(2, 3))), true, 3, problem.MissingShard},
		{"a shard is cut", append(weightsSharded(3), truncated("m/"+weightsShard(3, 3), -1)), true, 3, problem.Truncated},
		{"a shard is longer", append(weightsSharded(3), appended("m/"+weightsShard(3, 3), []byte{0})), true, 3, problem.SizeMismatch},
		{"zeros in a header", append(weightsSharded(3), zeroed("m/"+weightsShard(1, 3), 0, 20)), true, 3, problem.BadSafetensors},
		{"the index is empty", append(weightsSharded(3), write(weightsIndexName, nil)), true, -1, problem.EmptyFile},
		{"the index is cut", append(weightsSharded(3), truncated(weightsIndexName, -5)), true, -1, problem.BadJSON},
		{"the index names nothing", append(weightsSharded(3), writeText(weightsIndexName, "{}")), true, -1, problem.BadIndex},
		{"the index leads out", append(weightsSharded(3), write(weightsIndexName, filetest.WeightIndex("../x"))), true, -1,
			problem.BadIndex},
		{"the index and the names differ", append(weightsSharded(3),
			write(weightsIndexName, filetest.WeightIndex(weightsShard(1, 3), weightsShard(2, 3)))), true, -1, problem.BadIndex},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDisk(t)
			d.play(test.ops...)
			for level := Ends; level <= Everything; level++ {
				c, found, got := weightsSee(d, level)
				if found != test.found || got != test.want || c.ShardsExpected != test.shards {
					t.Errorf("level %d: found=%v %q, %d shards, want %v %q %d", level, found, got, c.ShardsExpected, test.found, test.want,
						test.shards)
				}
			}
		})
	}
}

// By names alone a gap among the shards is seen.
func TestCheckWeightsNames(t *testing.T) {
	d := newDisk(t)
	d.play(weightsSharded(3)...)
	if c, found, got := weightsSee(d, Names); !found || got != "" || c.ShardsFound != 3 {
		t.Errorf("found=%v %q, %d shards", found, got, c.ShardsFound)
	}
	d.play(remove("m/" + weightsShard(2, 3)))
	if _, found, got := weightsSee(d, Names); !found || got != problem.MissingShard {
		t.Errorf("without a shard: found=%v %q", found, got)
	}
}

func TestCheckWeightsUnreadable(t *testing.T) {
	d := newDisk(t)
	d.play(weightsSharded(2)...)
	for _, path := range []string{"m", weightsIndexName, "m/" + weightsShard(2, 2)} {
		for _, err := range []error{syscall.EIO, syscall.EACCES, syscall.ESTALE} {
			l := newLook(context.Background(), failing{d.fs(), path, err}, Options{Level: Manifests})
			_, got := torchLook(l, func(l *look, c *Checkpoint) error {
				_, err := checkWeights(l, c, "m")
				return err
			})
			if !got.Unknown() {
				t.Errorf("%s: %v is %q", path, err, got)
			}
		}
	}
}
