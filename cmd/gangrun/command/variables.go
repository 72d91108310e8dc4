package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gangrun/gangrun/internal/plain"
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
	o := defaultOptions()
	l := &localOptions{options: defaultOptions()}
	for _, s := range slices.Concat(o.runSettings(), o.launchSettings(), l.settings(), newJobClient(nil).settings()) {
		names = append(names, s.variable())
	}
	return names
})

// settingElsewhere says which command has a setting that another one does not; "" where none has.
func settingElsewhere(name string) string {
	for _, c := range []struct {
		name     string
		settings []*setting
	}{
		{"run", defaultOptions().runSettings()}, {"launch", defaultOptions().launchSettings()},
		{"local", (&localOptions{options: defaultOptions()}).settings()},
	} {
		if slices.Contains(settingNames(c.settings), name) {
			return "; it is a setting of gangrun " + c.name
		}
	}
	return ""
}

// misspelt is a warning about variables that are nearly those of a flag, and so have no effect; "" if there are none.
func misspelt(environ []string) string {
	var found []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		upper := strings.ToUpper(name)
		if !nearlyOurs(upper) || serviceLink(name, value) || slices.Contains(workersOwn, strings.TrimPrefix(name, variablePrefix)) ||
			slices.Contains(knownVariables(), name) {
			continue
		}
		best, at := "", 3
		for _, known := range knownVariables() {
			if d := distance(upper, known); d < at {
				best, at = known, d
			}
		}
		if best != "" {
			found = append(found, fmt.Sprintf("%s is not known and does nothing; did you mean %s?", plain.Text(name), best))
		}
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// nearlyOurs reports whether a name in capitals almost begins with the prefix of our variables; it is a cheap first look.
func nearlyOurs(upper string) bool {
	begins := upper[:min(len(upper), len(variablePrefix))]
	return begins == variablePrefix || len(upper) > len(variablePrefix) && upper[0] == 'G' && distance(begins, variablePrefix) <= 2
}

// ofTheOther are the variables that only launch knows if the settings are run's, and the other way round.
func ofTheOther(settings []*setting, environ []string) (other string, found []string) {
	other, its := "launch", defaultOptions().launchSettings
	switch names := settingNames(settings); {
	case slices.Contains(names, "nnodes"):
		other, its = "run", defaultOptions().runSettings
	case !slices.Contains(names, "nodes"):
		return "", nil
	}
	for _, s := range its() {
		if slices.ContainsFunc(settings, func(own *setting) bool { return own.name == s.name }) {
			continue
		}
		for _, entry := range environ {
			if strings.HasPrefix(entry, s.variable()+"=") && !serviceLink(s.variable(), entry[len(s.variable())+1:]) {
				found = append(found, s.variable())
			}
		}
	}
	return other, found
}
