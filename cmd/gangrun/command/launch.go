package command

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/gang"
	"github.com/gangrun/gangrun/supervisor/torchrun"
	"github.com/gangrun/gangrun/supervisor/torchrun/timer"
)

const (
	launchArguments = "[torchrun's flags] [gangrun's flags] SCRIPT [ARGUMENT...]"
	launchExample   = "launch --nproc-per-node 8 --max-restarts 3 train.py --epochs 10"
	launchNote      = "Takes the place of torchrun: also under the name torchrun, see gangrun install-torchrun.\n" +
		"torchrun's flags have their PET_ variables too, and can be shortened as there.\n" +
		"--print-completion bash|zsh|tcsh prints a script that completes them.\n" + configurable
)

func launchCommand(p *program) *cli.Command {
	o := defaultOptions()
	o.resuming.openTree = p.openTree
	settings := o.launchSettings()
	return &cli.Command{
		Name:               "launch",
		Usage:              "start the ranks of this node as torchrun does, with its flags",
		CustomHelpTemplate: shortHelp("launch", launchArguments, launchExample, launchNote, settings, groupTorchrun),
		Flags:              flags(settings),
		SkipFlagParsing:    true, // torchrun's rules are not the library's
		Action: func(c *cli.Context) error {
			t, err := o.parseLaunch(c.Args().Slice(), settings)
			switch {
			case err != nil:
				return badConfig(o, err)
			case t == nil && o.completionFor != "":
				return torchrunCompletion(stdout, o.completionFor)
			case t == nil:
				return cli.ShowSubcommandHelp(c)
			}
			keepDescriptors()
			p.code = supervise(o)
			return nil
		},
	}
}

// launchSettings are torchrun's flags, for the help, the configuration file and completion, and then those of gangrun
// that torchrun has not.
func (o *options) launchSettings() []*setting {
	var settings []*setting
	for _, f := range torchrun.Flags() {
		if f.Name == "help" || f.Name == "print-completion" { // no settings: each is all that is done
			continue
		}
		values := f.Choices
		if f.Name == "numa-binding" { // each is refused
			values = nil
		}
		settings = append(settings, &setting{
			name: f.Name, short: f.Short, group: groupTorchrun, hint: f.Hint, usage: f.Usage, standard: f.Default, values: values,
			isBool: f.Kind == torchrun.Switch, many: true, parse: func(string) error { return nil }, // package torchrun reads them
		})
	}
	theirs := settingNames(settings)
	for _, s := range slices.Concat(o.common(), o.hangSettings(), o.preflightSettings(), o.hookSettings(), o.jobSettings(), o.checkpointSettings(), o.frameworkSettings()) {
		if s.name == "nodes" { // it is --nnodes here
			continue
		}
		if !slices.Contains(theirs, s.name) {
			settings = append(settings, s)
		}
	}
	return settings
}

// parseLaunch reads the command line, variables and configuration file and completes the configuration with the ranks.
// It returns nil without an error when help was asked for.
func (o *options) parseLaunch(args []string, settings []*setting) (*gang.Torchrun, error) {
	t, err := parseTorchrun(args, settings, nil)
	o.completionFor = t.Completion
	if err != nil || t.Help || t.Completion != "" {
		return nil, errors.Join(err, o.recover(settings, err))
	}
	for _, own := range t.Own {
		s := settingOf(settings, own.Name)
		s.given = append(s.given, own.Value)
	}
	if err := o.prepare(settings, os.LookupEnv); err != nil {
		return nil, err
	}
	if o.config != "" { // it may say what neither flag nor variable does
		file, err := readConfig(o.config, settings)
		if err != nil {
			return nil, err
		}
		if t, err = parseTorchrun(args, settings, file); err != nil {
			return nil, err
		}
	}
	return o.launch(t, settings)
}

// recover reads what the settings say after a mistake on the command line: where to report it is one of them.
func (o *options) recover(settings []*setting, mistake error) error {
	if mistake != nil {
		_ = resolve(settings, os.LookupEnv)
	}
	return nil
}

// parseTorchrun parses the command line. A flag that is not given is looked up as GANGRUN_<FLAG>, PET_<FLAG>, and in the
// configuration file.
func parseTorchrun(args []string, settings []*setting, file map[string]fileValue) (torchrun.Options, error) {
	lookup := func(variable string) (string, bool) {
		flag, pet := strings.CutPrefix(variable, "PET_")
		if pet {
			if value, found := os.LookupEnv(variablePrefix + flag); found {
				return value, true
			}
		}
		if value, found := os.LookupEnv(variable); found || !pet {
			return value, found
		}
		value, found := file[strings.ToLower(strings.ReplaceAll(flag, "_", "-"))]
		return strings.Join(value.values, ","), found
	}
	own := func(name string) (takesValue, known bool) {
		for _, s := range settings {
			if s.name == name && s.group != groupTorchrun {
				return !s.isBool, true
			}
		}
		return false, false
	}
	t, err := torchrun.Parse(args, lookup, own)
	if unknown := (*torchrun.UnknownFlagError)(nil); errors.As(err, &unknown) {
		var known []string
		for _, name := range settingNames(settings) {
			known = append(known, "--"+name)
		}
		return t, &configError{err.Error() + cmp.Or(nearest(unknown.Flag, known), "; gangrun launch "+helpAll+" lists them")}
	}
	if err != nil {
		return t, &configError{err.Error()}
	}
	return t, nil
}

// launch completes the configuration with the ranks that torchrun's flags ask for.
func (o *options) launch(t torchrun.Options, settings []*setting) (*gang.Torchrun, error) {
	if err := t.Check(); err != nil {
		return nil, &configError{err.Error()}
	}
	nproc, err := t.Workers(torchrun.Devices{
		CPUs: processors, GPUs: func() (int, error) { return torchrun.CountGPUs(os.DirFS("/"), os.LookupEnv) },
	})
	if err != nil {
		return nil, &configError{err.Error()}
	}
	if err := o.adoptTorchrun(t); err != nil {
		return nil, err
	}
	if as, given := t.Given["max-restarts"]; given {
		restarts := settingOf(settings, "max-restarts")
		_, pet := os.LookupEnv(as)
		switch {
		case strings.HasPrefix(as, "-"):
			restarts.from, restarts.source = as, sourceFlag
		case pet && restarts.source < sourceVariable:
			restarts.from, restarts.source = as, sourceVariable
		}
	}
	if err := o.contradictRestarts(settings); err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // without one, prefixes and reports have no name
	g := &gang.Torchrun{
		Options: t, NProc: nproc, RunID: t.RunID, MaxRestarts: t.MaxRestarts, Host: host, Env: workerEnvironment(settings),
		Python:   torchrun.FindPython(os.LookupEnv, besideTorchrun(), executable),
		Terminal: isTerminal(os.Stdin), Brief: o.forPeople(),
	}
	if t.Standalone {
		g.RunID = uuid() // as torchrun, whatever was given
	}
	if o.Job == "" && t.RunID != "none" {
		o.Job = t.RunID
	}
	o.slots, o.role = nproc, t.Role
	if err := o.place(t); err != nil {
		return nil, err
	}
	if err := o.placeIdle(t, settings); err != nil {
		return nil, err
	}
	if err := o.settleResume(append([]string{t.Script}, t.Args...), nproc); err != nil {
		return nil, err
	}
	if err := o.settlePreflight(settings); err != nil {
		return nil, err
	}
	if err := g.MakeDirectory(); err != nil && t.LogDir != "" {
		return nil, &configError{"--log-dir: " + err.Error()}
	} else if err != nil {
		from, alone := t.FilesFrom(nproc)
		says := fmt.Sprintf("%s: no directory for the files: %v; give --log-dir, or set TMPDIR to a directory that can be written to", from, err)
		if alone { // the output would be lost
			return nil, &configError{says}
		}
		o.warnings = append(o.warnings, says)
	}
	timers := o.timers(g)
	o.live = !g.Terminal || nproc > 1 // what a rank that has the terminal shows there does not go through gangrun
	o.Workers, o.RoundEnded, o.HangDir = o.resumed(g.Workers), g.RoundEnded, g.Directory
	o.Epilogue = func(w io.Writer) {
		g.Report(w, os.Getenv("TORCHELASTIC_ERROR_FILE"))
		g.RemoveEmpty()
		if timers != nil {
			timers.Close()
		}
	}
	o.started = func(log *slog.Logger) {
		g.Log = log
		if timers != nil {
			timers.Serve(log)
		}
		if t.EventLogHandler == torchrun.EventsToConsole {
			log.Info("--event-log-handler console: torchrun's events are not printed; gangrun's own log tells of the same")
		}
		o.sayHangs(log)
		if _, set := os.LookupEnv("OMP_NUM_THREADS"); nproc > 1 && !set {
			log.Info("OMP_NUM_THREADS is not set: each rank gets 1, as under torchrun; a higher value may be faster")
		}
	}
	return g, nil
}

// uuid is a random UUID, version 4.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// timers are those of torch.distributed.elastic.timer, where torchrun would keep them; nil: it would not, or they cannot
// be kept.
func (o *options) timers(g *gang.Torchrun) *timer.Server {
	if os.Getenv(timer.VariableEnable) != "1" {
		return nil
	}
	path := os.Getenv(timer.VariableFile)
	if path == "" {
		path = filepath.Join(os.TempDir(), "watchdog_timer_"+uuid())
	} else if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 { // of an earlier run
		_ = os.Remove(path)
	}
	s, err := timer.Make(path)
	if err != nil {
		o.warnings = append(o.warnings, fmt.Sprintf("%s: the timers that the training sets are not kept: %v; "+
			"--hang-timeout ends workers that hang", timer.VariableEnable, err))
		return nil
	}
	g.Env = environ.Set(g.Env, timer.VariableFile, path)
	return s
}
