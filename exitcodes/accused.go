package exitcodes

import (
	"slices"
	"strconv"
	"strings"
)

// accusedPattern are the ways in which a rank is named that did not come: where another had to wait for it.
var accusedPattern = lazy(`\[(\d{1,6})\] finished collective #\d+, but didn't join collective #\d+|` +
	`Ranks? (\d{1,6}(?:, \d{1,6})*) failed to pass monitoredBarrier|` +
	`jax_worker/replica:\d{1,6}/task:(\d{1,6})\b(?: has been set to ERROR| heartbeat timeout|$)`)

const mostNamed = 64

// accused are the ranks that the words name: "[7] finished collective #182, but didn't join collective #183".
func accused(w said) []int {
	var ranks []int
	for _, l := range w.accusations {
		for _, m := range accusedPattern().FindAllStringSubmatch(l, 64) {
			for rank := range strings.SplitSeq(strings.Join(m[1:], ""), ", ") {
				if len(ranks) == mostNamed {
					return ranks
				}
				if n, err := strconv.Atoi(rank); err == nil && !slices.Contains(ranks, n) {
					ranks = append(ranks, n)
				}
			}
		}
	}
	return ranks
}

// hostPattern are the ways in which gloo, NCCL and torch's store name the other end of a lost connection.
var hostPattern = lazy(`by peer \[([0-9A-Za-z.:%_-]{1,64})\]:\d{1,5}|remote peer ([0-9A-Za-z.:%_-]{1,64})<\d{1,5}>|` +
	`(?:Read|Write) error \[([0-9A-Za-z.:%_-]{1,64})\]:\d{1,5}|remote=\[([0-9A-Za-z.:%_-]{1,64})\]:\d{1,5}`)

const mostHosts = 4

// hostsNamed are the hosts that the words name as the other end of a lost connection: "closed by peer [10.0.0.7]:3469".
func hostsNamed(w said) []string {
	var hosts []string
	for _, l := range w.accusations {
		for _, m := range hostPattern().FindAllStringSubmatch(l, 64) {
			host := strings.TrimPrefix(strings.Join(m[1:], ""), "::ffff:")
			host, _, _ = strings.Cut(host, "%") // the interface of a link-local address
			if len(hosts) < mostHosts && !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}
