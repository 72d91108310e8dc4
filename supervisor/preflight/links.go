package preflight

import (
	"slices"
	"strings"
)

// ProbeLinks is the name of the probe that looks at the network's links.
const ProbeLinks = "network links"

// Link is a network interface, as /sys/class/net shows it.
type Link struct {
	Name    string
	Enabled bool // somebody has switched it on
	Carrier bool // and there is something at the other end
	Real    bool // there is a device behind it
}

// up reports whether it can carry anything.
func (l Link) up() bool { return l.Enabled && l.Carrier }

// JudgeLinks says what the links mean. first are those of the first look, nil when this is it. wanted is what
// NCCL_SOCKET_IFNAME says, and several that there are other nodes to reach.
func JudgeLinks(links, first []Link, wanted string, several bool) Result {
	const do = "run elsewhere, and have the cable, the port and the driver checked"
	if links == nil {
		return note(ProbeLinks, "", "/sys/class/net cannot be read: not checked")
	}
	for _, was := range first {
		if was.Real && was.up() && !slices.ContainsFunc(links, func(l Link) bool { return l.Name == was.Name && l.up() }) {
			return sick(ProbeLinks, do, "%s was up at the start and is down now", was.Name)
		}
	}
	var up, down, named []string
	use := selection(wanted)
	for _, l := range links {
		switch {
		case l.Name == "lo":
			continue
		case l.up():
			up = append(up, l.Name)
		case l.Enabled && l.Real:
			down = append(down, l.Name)
		}
		if use != nil && use(l.Name) {
			named = append(named, l.Name)
		}
	}
	switch {
	case len(named) > 0 && !slices.ContainsFunc(named, func(name string) bool { return slices.Contains(up, name) }):
		return sick(ProbeLinks, do, "%s is down, which NCCL_SOCKET_IFNAME=%s names", strings.Join(named, ", "), plain(wanted))
	case use != nil && len(named) == 0 && several:
		return note(ProbeLinks, "name one that there is: "+plain(strings.Join(up, ", ")),
			"NCCL_SOCKET_IFNAME=%s names none that there is", plain(wanted))
	case len(up) == 0 && several:
		return sick(ProbeLinks, do, "none is up, so no other node can be reached")
	case len(down) > 0:
		return note(ProbeLinks, "have the cable and the port checked",
			"%s is switched on, and has no link", strings.Join(down, ", "))
	case len(up) == 0:
		return ok(ProbeLinks, "none, and no other node to reach")
	}
	return ok(ProbeLinks, "up: %s", strings.Join(up, ", "))
}

// selection reads NCCL_SOCKET_IFNAME: beginnings of names, or whole names after "=". Nil where it names none: it is not
// set, or says which not to use ("^").
func selection(wanted string) func(string) bool {
	whole := strings.HasPrefix(wanted, "=")
	wanted = strings.TrimPrefix(wanted, "=")
	if wanted == "" || strings.HasPrefix(wanted, "^") {
		return nil
	}
	names := strings.Split(wanted, ",")
	return func(link string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return name == link || !whole && name != "" && strings.HasPrefix(link, name)
		})
	}
}
