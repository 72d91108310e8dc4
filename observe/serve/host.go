package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// names are those under which the page is shown, and what feeds it. Under any other, whose owner has it point here for
// a moment (DNS rebinding), a browser would let that owner's script read all of it.
type names map[string]bool

// ownNames are localhost, the one to listen at, the host name, what a hosts file calls that host, with the beginnings
// that people shorten it to, and the host in the domains that are searched.
func ownNames(listen, hostname, hosts, resolver string) names {
	n := names{}
	n.add("localhost")
	host, _, _ := net.SplitHostPort(listen)
	n.add(host)
	n.add(hostname)
	short, _, _ := strings.Cut(hostname, ".")
	if short == "" {
		return n
	}
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if !slices.Contains(fields, hostname) {
			continue
		}
		for _, name := range fields[1:] {
			n.add(name)
			for strings.HasPrefix(name, short+".") {
				name = name[:strings.LastIndexByte(name, '.')]
				n.add(name)
			}
		}
	}
	for line := range strings.Lines(resolver) {
		if fields := strings.Fields(line); len(fields) > 1 && (fields[0] == "search" || fields[0] == "domain") {
			for _, domain := range fields[1:] {
				n.add(short + "." + domain)
			}
		}
	}
	return n
}

// add adds a name; an address needs none.
func (n names) add(name string) {
	if name != "" {
		n[plainName(name)] = true
	}
}

// plainName is a name as it compares with others.
func plainName(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }

// mean reports whether a Host header means this server. Only a browser is led astray, and each sends one.
func (n names) mean(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "" {
		return true
	}
	return n[plainName(host)]
}

// only answers who asks for this server by an address or one of its names; more is how it gets another.
func (n names) only(more string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if n.mean(r.Host) {
			next(w, r)
			return
		}
		text(w, http.StatusForbidden, fmt.Sprintf("%q is no name of this machine that gangrun knows of, and nothing is "+
			"shown under it: ask by an address or as localhost, as kubectl port-forward lets you; an Ingress or a proxy "+
			"has to send localhost as Host. %s", r.Host, more))
	}
}

// namesHere are those of the machine that this runs on. What cannot be read names nothing.
func namesHere(listen string) names {
	hostname, _ := os.Hostname()
	hosts, _ := os.ReadFile("/etc/hosts")
	resolver, _ := os.ReadFile("/etc/resolv.conf")
	return ownNames(listen, hostname, string(hosts), string(resolver))
}
