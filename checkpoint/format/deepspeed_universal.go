package format

import (
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// isDeepSpeedUniversal reports whether a tag was converted to the universal form: one directory for every parameter,
// and copies of the model's states beside it. Its makings are in deepspeed/checkpoint/ds_to_universal.py.
func isDeepSpeedUniversal(d *dir, files *deepSpeedFiles) bool {
	return d.isDir("zero") && len(files.optim) == 0
}

// checkDeepSpeedUniversal wants the directory of each parameter to hold its weights. It is made by hand from a save of
// the training, and is loaded only by whoever asks for it: never one to resume from by itself.
func checkDeepSpeedUniversal(l *look, c *Checkpoint, d *dir) error {
	zero, err := l.dir(d.join("zero"))
	if err != nil {
		return err
	}
	parameters := zero.dirs(func(string) bool { return true })
	if len(parameters) == 0 {
		return problem.New(problem.MissingShard, "%s holds no parameters", zero.path)
	}
	paths := make([]string, len(parameters))
	for i, name := range parameters {
		paths[i] = zero.join(name) + "/fp32.pt"
	}
	c.ShardsExpected = len(paths)
	if _, err := checkTorchAll(l, c, paths); err != nil {
		return err
	}
	c.ShardsFound = len(paths)
	c.Basis, c.Elastic = BasisStructure, true
	c.weightsOnly("%s was converted to the universal form and is no save of the training", d.path)
	return nil
}
