package rendezvous

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as Go writes it, such as "1m30s".
type Duration time.Duration

// MarshalText writes the duration as Go writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration such as 90s", text)
	}
	*d = Duration(v)
	return nil
}

func (d Duration) of() time.Duration { return time.Duration(d) }

// Defaults of a job's timings.
const (
	DefaultFence           = 60 * time.Second // a silent node counts as gone
	DefaultJoinTimeout     = 10 * time.Minute
	DefaultLastCall        = 30 * time.Second // before the first round, below the maximum
	DefaultLastCallRestart = time.Second      // the same before later rounds
	DefaultTTL             = time.Hour        // how long a finished record is kept
	DefaultBackoff         = time.Second
	DefaultBackoffMax      = time.Minute
)

// When an elastic job admits nodes that came after its round had begun.
const (
	GrowRestart    = "restart"    // at the next restart, whatever its cause
	GrowCheckpoint = "checkpoint" // at the next complete checkpoint
)

// What a spent restart budget means for whoever reads the exit code.
const (
	ExhaustedRetry = "retry" // the root cause's own code: the operator counts on
	ExhaustedFatal = "fatal" // 90: the operator has no limit of its own
)

// Restarts is the policy of the job-wide budget.
type Restarts struct {
	Max            int      `json:"max"`                      // restarts without progress
	Never          bool     `json:"never,omitempty"`          // leave every restart to the operator
	Any            bool     `json:"any,omitempty"`            // also after a fatal exit code of which no rule knows more
	MaxPreemptions int      `json:"maxPreemptions,omitempty"` // restarts after announced departures; 0 is no limit
	MaxSameFailure int      `json:"maxSameFailure,omitempty"` // the same failure at the same known step, in a row
	Backoff        Duration `json:"backoff,omitempty"`        // before the second restart without progress; doubles
	BackoffMax     Duration `json:"backoffMax,omitempty"`
	Window         Duration `json:"window,omitempty"` // at most InWindow restarts within it, whatever the progress
	InWindow       int      `json:"inWindow,omitempty"`
	Exhausted      string   `json:"exhausted,omitempty"`
}

// Spec is what the nodes of a job must agree on. The command line, addresses and resources are no part of it.
type Spec struct {
	MinNodes        int                   `json:"minNodes"`
	MaxNodes        int                   `json:"maxNodes"`
	Sizes           []int                 `json:"sizes,omitempty"` // see Size
	Roles           map[string]RolePolicy `json:"roles,omitempty"` // a role that is not named restarts with the gang
	Restarts        Restarts              `json:"restarts"`
	Resume          ResumePolicy          `json:"resume,omitzero"`
	Grow            string                `json:"grow,omitempty"`
	Fence           Duration              `json:"fence"`
	JoinTimeout     Duration              `json:"joinTimeout"`
	LastCall        Duration              `json:"lastCall"`
	LastCallRestart Duration              `json:"lastCallRestart"`
	TTL             Duration              `json:"ttl"`
}

// DefaultSpec is the spec of a job of n nodes with every timing at its default.
func DefaultSpec(n int) Spec {
	return Spec{
		MinNodes: n, MaxNodes: n, Grow: GrowRestart,
		Fence: Duration(DefaultFence), JoinTimeout: Duration(DefaultJoinTimeout),
		LastCall: Duration(DefaultLastCall), LastCallRestart: Duration(DefaultLastCallRestart), TTL: Duration(DefaultTTL),
		Restarts: Restarts{
			Max: 3, MaxSameFailure: 2, Backoff: Duration(DefaultBackoff), BackoffMax: Duration(DefaultBackoffMax),
			Exhausted: ExhaustedRetry,
		},
	}
}

// maxNodes bounds a job, so that a broken value cannot ask for absurd amounts of memory. A round's record of that many
// members still fits into one request to etcd.
const maxNodes = 4096

// maxDuration bounds every time of a spec, so that adding some of them never overflows.
const maxDuration = Duration(10 * 365 * 24 * time.Hour)

func (s Spec) check() error {
	switch {
	case s.MinNodes < 1 || s.MaxNodes < s.MinNodes || s.MaxNodes > maxNodes:
		return fmt.Errorf("spec: %d:%d nodes, want 1 <= min <= max <= %d", s.MinNodes, s.MaxNodes, maxNodes)
	case !s.sizesFit():
		return fmt.Errorf("spec: sizes %v of %d:%d nodes, want up to %d rising numbers from the least to the most",
			s.Sizes[:min(len(s.Sizes), maxSizes)], s.MinNodes, s.MaxNodes, maxSizes)
	case s.Grow != "" && s.Grow != GrowRestart && s.Grow != GrowCheckpoint:
		return fmt.Errorf("spec: grow %q, want restart or checkpoint", s.Grow)
	case s.Restarts.Exhausted != "" && s.Restarts.Exhausted != ExhaustedRetry && s.Restarts.Exhausted != ExhaustedFatal:
		return fmt.Errorf("spec: exhausted %q, want retry or fatal", s.Restarts.Exhausted)
	case len(s.Roles) > maxRoles:
		return fmt.Errorf("spec: %d roles, at most %d", len(s.Roles), maxRoles)
	case s.Fence <= 0:
		return fmt.Errorf("spec: fence %v, want more than 0", s.Fence.of())
	case s.Restarts.Max < 0 || s.Restarts.MaxPreemptions < 0 || s.Restarts.MaxSameFailure < 0 || s.Restarts.InWindow < 0:
		return fmt.Errorf("spec: restarts %+v, want no negative number", s.Restarts)
	case s.Restarts.InWindow > maxRecent:
		return fmt.Errorf("spec: %d restarts in a window, at most %d", s.Restarts.InWindow, maxRecent)
	}
	for _, d := range []Duration{
		s.Fence, s.JoinTimeout, s.LastCall, s.LastCallRestart, s.TTL,
		s.Restarts.Backoff, s.Restarts.BackoffMax, s.Restarts.Window,
	} {
		if d < 0 || d > maxDuration {
			return fmt.Errorf("spec: a time of %v, want 0 to %v", d.of(), maxDuration.of())
		}
	}
	if err := s.Resume.check(); err != nil {
		return err
	}
	for name, p := range s.Roles {
		if p.Restart != "" && p.Restart != RestartGang && p.Restart != RestartSelf && p.Restart != RestartNever {
			return fmt.Errorf("spec: role %q: restart %q, want gang, self or never", name, p.Restart)
		}
	}
	return nil
}

// Hash is equal for equal specs.
func (s Spec) Hash() string {
	b, _ := json.Marshal(s) // maps are written in order; nothing in a spec cannot be written
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Diff names the fields in which the specs differ, with both values, such as "maxNodes: 4, here 2". It is empty for
// equal specs.
func (s Spec) Diff(here Spec) []string { return diff("", reflect.ValueOf(s), reflect.ValueOf(here)) }

func diff(prefix string, a, b reflect.Value) (list []string) {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		x, y := a.Field(i), b.Field(i)
		switch {
		case field.Type.Kind() == reflect.Struct:
			list = append(list, diff(prefix+name+".", x, y)...)
		case field.Type.Kind() == reflect.Map:
			there, here := x.Interface().(map[string]RolePolicy), y.Interface().(map[string]RolePolicy)
			list = append(list, diffRoles(there, here)...)
		case field.Type.Kind() == reflect.Slice:
			if fmt.Sprint(x) != fmt.Sprint(y) {
				list = append(list, fmt.Sprintf("%s%s: %v, here %v", prefix, name, x, y))
			}
		case !x.Equal(y):
			list = append(list, fmt.Sprintf("%s%s: %v, here %v", prefix, name, text(x), text(y)))
		}
	}
	return list
}

func text(v reflect.Value) any {
	if d, ok := v.Interface().(Duration); ok {
		return d.of()
	}
	return v.Interface()
}

func diffRoles(a, b map[string]RolePolicy) (list []string) {
	names := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if a[name] != b[name] {
			list = append(list, fmt.Sprintf("roles.%s: %+v, here %+v", name, a[name], b[name]))
		}
	}
	return list
}
