package exitcodes

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// floor is the room that the keys which are never dropped may take: "v", "verdict", "reason" and "exitCode".
	floor = 128
	// ellipsis marks where a text was cut.
	ellipsis = "..."
)

// fit encodes m in at most limit bytes, giving up one thing after another until it does.
func fit(m Message, limit int) []byte {
	m = bounded(m, limit)
	b := m.marshal()
	for _, give := range concessions {
		over := len(b) - limit
		if over <= 0 {
			break
		}
		give(&m, over)
		b = m.marshal()
	}
	return b
}

// concessions are tried in this order; each is told how many bytes are too many. First go the texts of any length,
// then every other field is held to a length with which all of them together fit a message of DefaultMessage bytes,
// and below that whole fields go, the least telling first.
var concessions = []func(m *Message, over int){
	func(m *Message, over int) { m.LogTail = keepEnd(m.LogTail, width(m.LogTail)-over) },
	func(m *Message, over int) { cutCause(m, over, 96) },
	func(m *Message, over int) { cut(&m.Message, over, 192) },

	func(m *Message, _ int) { nameHooks(m, 40) },
	func(m *Message, _ int) {
		m.Hooks = slices.DeleteFunc(m.Hooks, func(h Hook) bool { return h.ExitCode == 0 })
	},
	func(m *Message, _ int) { m.Hooks = m.Hooks[:min(len(m.Hooks), 4)] },
	func(m *Message, _ int) { capPath(m, 128) },
	func(m *Message, _ int) { capCause(m) },
	func(m *Message, _ int) { m.Role = keepStart(m.Role, 32) },
	func(m *Message, _ int) { m.Job = keepStart(m.Job, 96) },
	func(m *Message, _ int) { m.Node = keepStart(m.Node, 96) },
	func(m *Message, _ int) { m.Signal = keepStart(m.Signal, 16) },
	func(m *Message, _ int) { m.Reason = keepStart(m.Reason, 64) },

	func(m *Message, _ int) { m.Hooks = nil },
	func(m *Message, over int) { cutCause(m, over, 0) },
	func(m *Message, _ int) { m.StartedAt, m.FinishedAt = time.Time{}, time.Time{} },
	func(m *Message, _ int) { m.RecoverySeconds = 0 },
	func(m *Message, _ int) { m.Role = "" },
	func(m *Message, _ int) { m.LocalRank = nil },
	func(m *Message, _ int) { capPath(m, 48) },
	func(m *Message, over int) { cut(&m.Message, over, 64) },
	func(m *Message, _ int) { m.Checkpoint = nil },
	func(m *Message, _ int) { m.Restarts = nil },
	func(m *Message, _ int) { m.Step = nil },
	func(m *Message, _ int) { m.RootCause = nil },
	func(m *Message, _ int) { m.Job = "" },
	func(m *Message, _ int) { m.Rank, m.Round = nil, nil },
	func(m *Message, _ int) { m.Node = "" },
	func(m *Message, over int) { cut(&m.Message, over, 0) },
	func(m *Message, _ int) { m.WorkerExitCode, m.Signal = nil, "" },
	func(m *Message, _ int) {
		m.Reason, m.Verdict = keepStart(m.Reason, 40), Verdict(keepStart(string(m.Verdict), 16))
	},
}

// cut shortens s by over bytes, but not below keep.
func cut(s *string, over, keep int) {
	*s = keepStart(*s, max(width(*s)-over, keep))
}

// cutCause shortens the root cause's evidence by over bytes, but not below keep.
func cutCause(m *Message, over, keep int) {
	if m.RootCause != nil {
		cut(&m.RootCause.Evidence, over, keep)
	}
}

func capCause(m *Message) {
	if c := m.RootCause; c != nil {
		c.Node = keepStart(c.Node, 96)
		c.Reason = keepStart(c.Reason, 64)
		c.Rule = keepStart(c.Rule, 64)
		c.Signal = keepStart(c.Signal, 16)
	}
}

// capPath keeps the end of the checkpoint's path, where the step is.
func capPath(m *Message, limit int) {
	if c := m.Checkpoint; c != nil && keepEnd(c.Path, limit) != c.Path {
		c.Path = ellipsis + keepEnd(c.Path, limit-len(ellipsis))
	}
}

func nameHooks(m *Message, limit int) {
	for i := range m.Hooks {
		m.Hooks[i].Name = keepStart(m.Hooks[i].Name, limit)
	}
}

// bounded returns a copy of m, free of what JSON cannot hold, in which nothing is much longer than limit. It leaves
// the original alone, and it looks at no more of a text than it keeps, so megabytes of input cost nothing.
func bounded(m Message, limit int) Message {
	name := min(limit, 512)
	m.V = messageVersion
	m.Verdict = Verdict(keepStart(string(m.Verdict), name))
	for _, s := range []*string{&m.Reason, &m.Signal, &m.Job, &m.Node, &m.Role} {
		*s = keepStart(*s, name)
	}
	m.Message = keepStart(m.Message, limit)
	m.LogTail = keepEnd(m.LogTail, limit)
	m.RecoverySeconds = milli(m.RecoverySeconds)
	m.StartedAt, m.FinishedAt = instant(m.StartedAt), instant(m.FinishedAt)
	if m.RootCause != nil {
		c := *m.RootCause
		for _, s := range []*string{&c.Node, &c.Reason, &c.Signal, &c.Rule} {
			*s = keepStart(*s, name)
		}
		c.Evidence = keepStart(c.Evidence, limit)
		c.At = instant(c.At)
		m.RootCause = &c
	}
	if m.Checkpoint != nil {
		c := *m.Checkpoint
		m.Checkpoint = &c
		capPath(&m, limit)
		c.AgeSeconds = milli(c.AgeSeconds)
	}
	const shortestHook = len(`{"name":"","exitCode":0},`)
	m.Hooks = slices.Clone(m.Hooks[:min(len(m.Hooks), limit/shortestHook)])
	nameHooks(&m, min(limit, 128))
	return m
}

// milli rounds to thousandths. What is no number becomes 0, which is left out.
func milli(seconds float64) float64 {
	rounded := math.Round(seconds*1000) / 1000
	if math.IsNaN(rounded) || math.IsInf(rounded, 0) {
		return 0
	}
	return rounded
}

// instant returns t in UTC to the millisecond, or no time at all if RFC 3339 cannot write it.
func instant(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Millisecond)
	if t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// keepStart returns s, or the longest start of it that with an ellipsis takes at most limit bytes in JSON. Where not
// even one character and the ellipsis fit, nothing is left.
func keepStart(s string, limit int) string {
	used, end := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if used += escaped(r); used > limit {
			if end == 0 {
				return ""
			}
			return s[:end] + ellipsis
		}
		i += n
		if used+len(ellipsis) <= limit {
			end = i
		}
	}
	return s
}

// keepEnd returns s, or an end of it that takes at most limit bytes in JSON. It begins with a whole line unless that
// would cost more than half of what fits.
func keepEnd(s string, limit int) string {
	start := len(s)
	for used := 0; start > 0; {
		r, n := utf8.DecodeLastRuneInString(s[:start])
		if used += escaped(r); used > limit {
			break
		}
		start -= n
	}
	end := s[start:]
	if start == 0 || s[start-1] == '\n' {
		return end
	}
	if newline := strings.IndexByte(end[:len(end)/2], '\n'); newline >= 0 {
		return end[newline+1:]
	}
	return end
}

// width is how many bytes s has in a JSON string, without the quotes.
func width(s string) (bytes int) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		bytes += escaped(r)
		i += n
	}
	return bytes
}

// escaped is how many bytes marshal makes of a rune. A byte that is not UTF-8 decodes as U+FFFD and is written so.
func escaped(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return len(`\n`)
	case r < ' ', r >= 0x7f && r <= 0xffff:
		return len(`\u0000`)
	case r > 0xffff:
		return len(`\ud800\udc00`)
	}
	return 1
}
