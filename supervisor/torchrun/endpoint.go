package torchrun

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"
)

// readRendezvous reads --rdzv-conf: KEY=VALUE,KEY=VALUE, space around them not counted, the last of a key winning.
func (w *words) readRendezvous(o *Options, _ func(string) (string, bool)) error {
	text := trim(w.values["rdzv-conf"])
	if text == "" {
		return nil
	}
	o.Conf = map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(pair, "=")
		key, value = trim(key), trim(value)
		if key == "" || value == "" {
			return wrong(w.source("rdzv-conf"), "%q is not KEY=VALUE; settings are given as KEY=VALUE,KEY=VALUE", pair)
		}
		o.Conf[key] = value
	}
	return nil
}

// readEndpoint decides where the nodes find each other, as run and launch_agent of torchrun do.
func (w *words) readEndpoint(o *Options, _ func(string) (string, bool)) error {
	_, portGiven := w.values["master-port"]
	if !portGiven {
		o.MasterPort = defaultMasterPort
	}
	if o.MasterPort < 0 || o.MasterPort > 65535 {
		return wrong(w.source("master-port"), "%d is not a port; ports are 0 to 65535", o.MasterPort)
	}
	static := o.Backend == "static"
	if static && o.Endpoint == "" && !portGiven && o.MaxNodes == 1 {
		o.Standalone = true
	}
	if o.Standalone || o.Conf["store_type"] == "file" { // a file's endpoint is its path
		return nil
	}
	source, text, port := w.source("rdzv-endpoint"), o.Endpoint, -1
	switch o.Backend {
	case "c10d":
		port = c10dPort
	case "etcd", "etcd-v2":
		port = etcdPort
	case "static":
		if text == "" {
			source = w.source("master-addr")
			text = net.JoinHostPort(strings.Trim(o.MasterAddr, "[]"), strconv.Itoa(o.MasterPort))
		}
	default:
		return nil // Check refuses it; its endpoint may be anything
	}
	host, port, err := parseEndpoint(text, port)
	if err != nil {
		return wrong(source, "%v", err)
	}
	o.Host, o.Port = host, port
	return nil
}

// parseEndpoint reads HOST[:PORT] and [IPV6]:PORT; the port is the last part after a colon, as in torchrun. port is
// used when there is none; -1 asks for one. An empty endpoint is localhost.
func parseEndpoint(text string, port int) (string, int, error) {
	if text == "" {
		return "localhost", port, nil
	}
	host := text
	if at := strings.LastIndexByte(text, ':'); at >= 0 && (text[0] != '[' || text[len(text)-1] != ']') {
		digits := text[at+1:]
		n, err := strconv.Atoi(digits)
		if err != nil || !onlyDigits(digits) || len(digits) > 5 || n > 65535 {
			return "", 0, fmt.Errorf("%q has the port %q; ports are 0 to 65535, and an IPv6 address stands in [ ]", text, digits)
		}
		host, port = text[:at], n
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	if host == "" || strings.ContainsFunc(host, notInHost) {
		return "", 0, fmt.Errorf("%q names no host; an endpoint is HOST:PORT, one host, without a scheme", text)
	}
	if port < 0 {
		return "", 0, fmt.Errorf("%q has no port; the static rendezvous needs HOST:PORT", text)
	}
	return host, port, nil
}

func onlyDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func notInHost(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.:-", r)
}
