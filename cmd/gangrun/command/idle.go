package command

import (
	"fmt"
	"slices"
	"strings"
)

// idle are settings that do nothing, for one reason.
type idle struct {
	names []string
	why   string // completes a sentence that begins with a name
	// depends says that it is not these settings alone: elsewhere, with more nodes or under an operator, the same command
	// line needs them.
	depends bool
}

// idle are the settings that do nothing, as far as the settings alone tell.
func (o *options) idle(settings []*setting) (list []idle) {
	add := func(yes bool, i idle) {
		if yes {
			list = append(list, i)
		}
	}
	var checkpoints []string
	for _, s := range settings {
		if s.group == groupCheckpoint && s.name != "checkpoint-dir" && s.name != "resume-args" { // those are refused wherever they come from
			checkpoints = append(checkpoints, s.name)
		}
	}
	add(!o.Preflight.On && !o.doctor, idle{names: []string{"preflight-command", "preflight-timeout"}, why: "goes with --preflight, which is not given"})
	add(o.resuming.dir == "", idle{names: checkpoints, why: "goes with --checkpoint-dir, which is not given"})
	add(len(o.Hooks.OnExit)+len(o.Hooks.OnJobEnd) == 0, idle{names: []string{"hook-timeout", "hook-failure"},
		why: "goes with --on-exit or --on-job-end; neither is given"})
	if o.spec.Restarts.Never { // a flag may well outrank the image's variable here: nothing is said about that
		pauses := slices.DeleteFunc([]string{"restart-backoff", "restart-window"}, func(name string) bool {
			return settingOf(settings, name).source != sourceFlag
		})
		add(true, idle{names: pauses, why: "with --no-restart", depends: true})
	}
	return list
}

// storeSettings are those of the way to the store.
var storeSettings = []string{"store-ca", "store-cert", "store-key", "store-user-file", "store-password-file", "store-token-file", "store-dir",
	"store-port", "store-timeout"}

// idleAlone are the settings for several nodes that do nothing, once it is known where the nodes meet. named says that
// an operator or torchrun's flags name a place: then the same command line may be used for more nodes.
func (o *options) idleAlone(named bool) []idle {
	switch {
	case o.location.InProcess():
		return []idle{
			{names: storeSettings, why: "goes with --store or --endpoint; this is one node, and neither is given", depends: named},
			{names: []string{"fence-timeout", "last-call", "grow", "unique-nodes", "ttl-after-finished"}, why: "one node needs no store", depends: true},
		}
	case o.spec.MinNodes == o.spec.MaxNodes:
		return []idle{{names: []string{"last-call", "grow"}, why: "the number of nodes is fixed", depends: true}}
	}
	return nil
}

// refuseIdle refuses flags that were typed and do nothing. What was not typed, or is of use elsewhere, is noted for the log.
func (o *options) refuseIdle(settings []*setting, list []idle) error {
	for _, i := range list {
		var noted []string
		for _, s := range settings {
			switch {
			case s.from == "" || !slices.Contains(i.names, s.name):
			case s.source == sourceFlag && !i.depends:
				return &configError{fmt.Sprintf("--%s %s", s.name, i.why)}
			default:
				noted = append(noted, s.from)
			}
		}
		o.noteIdle(i.why, noted...)
	}
	return nil
}

// noteIdle notes for the log that settings do nothing.
func (o *options) noteIdle(why string, names ...string) {
	if len(names) > 0 {
		o.noted = append(o.noted, strings.Join(names, ", ")+" ("+why+")")
	}
}
