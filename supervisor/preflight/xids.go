package preflight

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// ProbeXids is the name of the probe that reads the GPU errors in the kernel's log.
const ProbeXids = "Xids"

// quiet is how long no error may come until a burst of them is over: one fault makes many.
const quiet = 3 * time.Minute

// burst are errors of which each came soon after the one before.
type burst struct {
	worst exitcodes.Xid // the first that breaks a GPU, else the first
	count int
	last  time.Time
}

// bursts groups errors, which are in the order in which they came.
func bursts(xids []exitcodes.Xid) (groups []burst) {
	for _, x := range xids {
		if n := len(groups); n > 0 && x.At.Sub(groups[n-1].last) <= quiet {
			b := &groups[n-1]
			b.count, b.last = b.count+1, x.At
			if x.Broken() && !b.worst.Broken() {
				b.worst = x
			}
			continue
		}
		groups = append(groups, burst{worst: x, count: 1, last: x.At})
	}
	return groups
}

// JudgeXids says what the GPU errors since the machine's start mean. Those of a burst that is over may have been fixed
// since, which nvidia-smi knows better. readable is false where the kernel's log cannot be read.
func JudgeXids(xids []exitcodes.Xid, readable bool, now time.Time) Result {
	if !readable {
		return ok(ProbeXids, "the kernel's log cannot be read, as in most containers")
	}
	if len(xids) == 0 {
		return ok(ProbeXids, "none in the kernel's log")
	}
	groups := bursts(xids)
	slices.Reverse(groups)
	for _, b := range groups {
		if b.worst.Broken() && now.Sub(b.last) <= quiet {
			return sick(ProbeXids, elsewhere, "%v, one of %d errors in a row, the last %v ago",
				b.worst, b.count, ago(b.last, now))
		}
	}
	b := groups[0]
	return note(ProbeXids, "", "%v, one of %d errors in a row, is over for %v; %d such times since the machine's start",
		b.worst, b.count, ago(b.last, now), len(groups))
}

func ago(at, now time.Time) time.Duration { return max(now.Sub(at), 0).Round(time.Second) }
