package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/supervisor/torchrun"
)

// links are the names that Kubernetes gives every container for each service of its namespace: a service gangrun-store
// makes GANGRUN_STORE_PORT=tcp://10.0.0.1:2379.
var links = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
})

// serviceLink reports whether a variable is there because of a service's name, and not because anybody has set it.
func serviceLink(name, value string) bool {
	if strings.HasSuffix(name, "_PORT") {
		scheme, _, url := strings.Cut(value, "://")
		return url && slices.Contains([]string{"tcp", "udp", "sctp"}, scheme)
	}
	return strings.Contains(name, "_SERVICE_") && links().MatchString(name) || strings.Contains(name, "_PORT_") && links().MatchString(name)
}

// workersOwn are the variables that gangrun gives to its workers and hooks, where another gangrun may find them.
var workersOwn = []string{
	"JOB_NAME", "NODE_NAME", "ROUND", "MEMBER", "STEP", "HOOK", "VERDICT", "REASON", "MESSAGE", "EXIT_CODE",
	"WORKER_EXIT_CODE", "SIGNAL", "RESTARTS_USED", "OUTCOME_FILE", "CHECKPOINT_PATH", "CHECKPOINT_STEP",
	"RESUME_PATH", "RESUME_STEP", "RESUME_ROOT", "RESUME_TAG", "RESUME_DECISION",
}

// knownVariables are those of every command: an image may set one of run's, which local does not have.
var knownVariables = sync.OnceValue(func() []string {
	var names []string
	for _, c := range append(supervising(), commandSettings{"status", newJobClient(nil).settings()}) {
		for _, s := range c.settings {
			names = append(names, s.variable())
		}
	}
	return names
})

// torchrunPrefix begins the variables of torchrun's own flags.
const torchrunPrefix = "PET_"

var torchrunVariables = sync.OnceValue(func() []string {
	var names []string
	for _, f := range torchrun.Flags() {
		if f.Variable != "" {
			names = append(names, f.Variable)
		}
	}
	return names
})

// unknownVariables are those that look like settings, and do nothing since they are none.
type unknownVariables struct {
	near    []string // sentences about those that are within two letters of a setting's
	guessed []string // about others of which it can be guessed what they were to be
	rest    []string // the names of all others
}

// lookThrough finds the unknown variables, for launch those of torchrun, too.
func lookThrough(environ []string, launch bool) (u unknownVariables) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		upper := strings.ToUpper(name)
		prefix, known := variablePrefix, knownVariables
		switch {
		case launch && strings.HasPrefix(upper, torchrunPrefix):
			prefix, known = torchrunPrefix, torchrunVariables
		case !nearlyOurs(upper):
			continue
		}
		if serviceLink(name, value) || slices.Contains(known(), name) ||
			prefix == variablePrefix && slices.Contains(workersOwn, strings.TrimPrefix(name, variablePrefix)) {
			continue
		}
		best := meant(upper, prefix, known())
		says := fmt.Sprintf("%s is not known and does nothing; did you mean %s?", plain.Text(name), best)
		switch {
		case best != "" && distance(upper, best) <= 2:
			u.near = append(u.near, says)
		case best != "":
			u.guessed = append(u.guessed, says)
		case strings.HasPrefix(name, prefix):
			u.rest = append(u.rest, plain.Text(name))
		}
	}
	slices.Sort(u.near)
	return u
}

// meant is the known variable that one was probably meant to be, or "". The prefix, which all have, makes nothing alike.
func meant(upper, prefix string, known []string) string {
	rest, whole := strings.CutPrefix(upper, prefix)
	if !whole {
		for _, k := range known {
			if distance(upper, k) <= 2 {
				return k
			}
		}
		return ""
	}
	bare := make([]string, len(known))
	for i, k := range known {
		bare[i] = strings.TrimPrefix(k, prefix)
	}
	if best := nearestOf(rest, bare); best != "" {
		return prefix + best
	}
	return ""
}

// nearlyOurs reports whether a name in capitals almost begins with the prefix of our variables; it is a cheap first look.
func nearlyOurs(upper string) bool {
	begins := upper[:min(len(upper), len(variablePrefix))]
	return begins == variablePrefix || len(upper) > len(variablePrefix) && upper[0] == 'G' && distance(begins, variablePrefix) <= 2
}

// commandSettings are the settings of a command that supervises.
type commandSettings struct {
	command  string
	settings []*setting
}

// supervising are these commands. What one of them lacks, its variables and files may say for another.
var supervising = sync.OnceValue(func() []commandSettings {
	o := defaultOptions()
	l := &localOptions{options: defaultOptions()}
	return []commandSettings{{"run", o.runSettings()}, {"launch", o.launchSettings()}, {"local", l.settings()}}
})

// commandWith is the command that has a setting which another one lacks; "" where none has.
func commandWith(name string) string {
	for _, c := range supervising() {
		if slices.Contains(settingNames(c.settings), name) {
			return c.command
		}
	}
	return ""
}

// noteOthers notes variables, and keys of the configuration file, that another command has and this one lacks.
func (o *options) noteOthers(settings []*setting, environ []string) {
	keys := settings[slices.IndexFunc(settings, func(s *setting) bool { return s.name == "config" })].others
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return !strings.HasPrefix(entry, variablePrefix) })
	if len(keys)+len(environ) == 0 {
		return
	}
	seen := settingNames(settings)
	for _, c := range supervising() {
		var found []string
		for _, s := range c.settings {
			if slices.Contains(seen, s.name) {
				continue
			}
			seen = append(seen, s.name)
			for _, entry := range environ {
				if name, value, _ := strings.Cut(entry, "="); name == s.variable() && !serviceLink(name, value) {
					found = append(found, name)
				}
			}
			if where := keys[s.name]; where != "" {
				found = append(found, s.name+" in "+where)
			}
		}
		o.noteIdle("a setting of gangrun "+c.command, found...)
	}
}
