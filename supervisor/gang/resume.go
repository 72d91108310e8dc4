package gang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/environ"
)

// Resume hands the checkpoint that a round resumes from to the workers: in their environment, in place of templates
// such as {resume_path} in their command lines, and as Args.
type Resume struct {
	// Args are appended to the command line when there is a checkpoint to resume from. They may have templates too.
	Args []string
}

// Presets are the arguments that tell a framework's training scripts what to resume from, by the framework's name.
// Scripts of other frameworks find their checkpoint by a pointer file, which package checkpoint keeps correct.
var Presets = map[string][]string{
	"hf":         {"--resume_from_checkpoint={resume_path}"}, // transformers: TrainingArguments
	"lightning":  {"--ckpt_path={resume_path}"},              // LightningCLI: fit --ckpt_path
	"megatron":   {"--load={resume_root}", "--ckpt-step={resume_step}", "--exit-on-missing-checkpoint"},
	"torchtitan": {"--checkpoint.load_step={resume_step}"},
	"deepspeed":  nil,
	"tf":         nil,
	"orbax":      nil,
}

// Workers wraps the function that makes the workers of a round.
func (r Resume) Workers(
	workers func(*agent.Start) ([]supervisor.Worker, error),
) func(*agent.Start) ([]supervisor.Worker, error) {
	return func(start *agent.Start) ([]supervisor.Worker, error) {
		made, err := workers(start)
		values := r.values(start)
		fill := templates(values)
		for i := range made {
			w := &made[i]
			w.Argv = filled(w.Argv, fill)
			if start.Resumed != nil {
				w.Argv = append(w.Argv, filled(r.Args, fill)...)
			}
			w.Env = slices.Clone(w.Env)
			for _, v := range values {
				w.Env = environ.Set(w.Env, "GANGRUN_"+strings.ToUpper(v.name), v.value)
			}
		}
		return made, err
	}
}

type value struct{ name, value string }

// values are what the templates and the variables stand for. They are empty where there is nothing to resume from: step
// 0 is a step.
func (r Resume) values(start *agent.Start) []value {
	var path, root, tag, step string
	if c := start.Resumed; c != nil {
		path, root, tag = c.Path, c.Root, c.Tag
		if s := start.Round.Resume.Step; s != nil {
			step = strconv.FormatInt(*s, 10)
		}
	}
	return []value{
		{"resume_path", path}, {"resume_root", root}, {"resume_tag", tag}, {"resume_step", step},
		{"resume_decision", start.Round.Resume.Decision},
	}
}

func templates(values []value) *strings.Replacer {
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, "{"+v.name+"}", v.value)
	}
	return strings.NewReplacer(pairs...)
}

// filled fills templates, each argument by itself: a path with spaces stays one argument.
func filled(argv []string, fill *strings.Replacer) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = fill.Replace(arg)
	}
	return out
}

// CheckTemplates refuses an unknown template: a misspelt one would reach the training script as it is.
func CheckTemplates(args []string) error {
	known := []string{"resume_path", "resume_root", "resume_tag", "resume_step", "resume_decision"}
	for _, arg := range args {
		for rest := arg; ; {
			_, after, found := strings.Cut(rest, "{resume_")
			if !found {
				break
			}
			name, tail, closed := strings.Cut(after, "}")
			if !closed || !slices.Contains(known, "resume_"+name) {
				return fmt.Errorf("%q: there is no {resume_%.40s}; want {%s}", arg, name, strings.Join(known, "}, {"))
			}
			rest = tail
		}
	}
	return nil
}
