package exitcodes

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxReported bounds the ranks of a report that are judged; a node has no more.
const maxReported = 128

// reported splits a worker that reports about its own workers, as torchrun does, into those: one outcome each, with
// the text that belongs to it. A death by signal, or a code that says retry by itself, needs no report. rest is o without
// the report, in case that none of the ranks failed by itself.
func reported(o Outcome) (ranks []Outcome, rest Outcome) {
	failures, text := ParseReport(o.Output)
	o.meter.pass(1, len(o.Output)-len(text)) // from the end
	if len(failures) == 0 {
		o.meter.pass(1, len(text))
	}
	failures = slices.DeleteFunc(failures, ReportedFailure.unreadable)
	if len(failures) == 0 || o.Status.Signal != 0 || o.Status.Code >= CodeSignalBase {
		return nil, o
	}
	if outlived(o, len(text)) {
		return nil, o
	}
	o.meter.pass(4, len(o.Output)-len(text)) // sections, items, fields, tracebacks
	o.meter.pass(2, len(text))               // by rank
	killed := slices.ContainsFunc(failures, func(r ReportedFailure) bool { return r.Status.Signal == sigkill })
	if len(failures) > maxReported {
		failures = slices.Concat(failures[:maxReported-1], failures[len(failures)-1:])
	}
	printed, shared := splitByRank(text, o.Arrived), &sharedText{words: map[bool]said{}}
	others := sync.OnceValue(func() bool {
		o.meter.pass(4, len(printed.nobodys.text))
		return showsSteps(printed.nobodys.text)
	})
	byThemselves := 0
	for _, r := range failures {
		if !r.closedDown() {
			byThemselves++
		}
	}
	for _, r := range failures {
		told := ""
		if strings.HasPrefix(r.Traceback, traceback) {
			told = r.Traceback
		}
		rank := o
		rank.others = others
		rank.Rank, rank.LocalRank, rank.Status = r.Rank, r.LocalRank, r.Status
		crashed := crash(r.Status.Number() - CodeSignalBase)
		words, died := printed.of(r.Rank, r.LocalRank), r.diedAt(o)
		var came Arrival // the report's traceback
		if len(o.Arrived) > 0 {
			came.At = died
		}
		switch {
		case len(words.text) > 0 || told != "":
			words.add([]byte(told), came)
		case crash(r.Status.Signal) && r.Status.Signal != sigabrt && byThemselves == 1:
			words, rank.nobodys = printed.nobodys, true
		case r.Status.Signal != 0 && r.Status.Signal != sigabrt:
			// nobody's lines are somebody else's: who dies of a signal seldom says something
		default:
			words, rank.shared = printed.nobodys, shared
		}
		rank.Output, rank.Arrived = words.text, words.arrived
		if crashed {
			rank.died = died
		} else { // an exit code says more: against it, a step or a line that came later may be another rank's
			rank.Arrived = untimed(words.arrived)
		}
		if told == "" && r.Status.Signal != 0 && tellsDeath([]byte(r.Traceback), r.Status.Signal) {
			rank.told = lastLine(r.Traceback)
		}
		if told != "" && crashed {
			rank.recorded = &ErrorFile{Message: lastLine(told), Callstack: told, At: r.At}
		}
		rank.ErrorFile = nil // it is the first failure's, and its traceback is in the report
		if !r.At.IsZero() {
			rank.At = r.At
		}
		if r.closedDown() {
			rank.Stop = StoppedByGang // torchrun closing down the others
		}
		if len(failures) == 1 {
			rank.ErrorFile = o.ErrorFile
		}
		if killed && r.Status.Signal != sigkill {
			rank.OOMKills = 0 // the kernel killed another rank
		}
		ranks = append(ranks, rank)
	}
	rest = o
	if rest.Output, rest.Arrived = text, untimed(o.Arrived); len(printed.nobodys.text) == len(text) {
		rest.shared = shared
	}
	return ranks, rest
}

// outlived reports whether another run went on after the report, which begins at the byte at, and ended by itself: what a shell
// starts again, or a person does, writes to the same file.
func outlived(o Outcome, at int) bool {
	after := o.Output[at:]
	i := bytes.Index(after, []byte(rootSection))
	j := bytes.Index(after[max(i, 0):], []byte("\n====="))
	if i < 0 || j < 0 {
		return false
	}
	after = after[i+j+1:]
	o.meter.pass(1, len(after))
	if !bytes.Contains(after, []byte(traceback)) {
		return false
	}
	o.meter.pass(4, len(after))
	return showsSteps(after)
}

// unreadable reports whether nothing tells what the rank died of: other programs' lines may stand in a report.
func (r ReportedFailure) unreadable() bool { return r.Status == (Status{}) }

// diedAt is when the rank died, by the clock by which o's lines arrived: the report's, which has whole seconds, unless
// that is another one.
func (r ReportedFailure) diedAt(o Outcome) time.Time {
	if at := r.At.Add(time.Second); len(o.Arrived) > 0 && at.After(o.Arrived[0].At) && at.Before(o.At) {
		return at
	}
	return o.At
}

// closedDown reports whether torchrun stopped the rank because another one had failed.
func (r ReportedFailure) closedDown() bool { return r.Status.Signal == sigterm && !r.First }

// blame finds the cause among the ranks that f reported, and makes it f's own. rest is what is left without the report.
func blame(f Finding, ranks []Outcome, rest Outcome, rules *Rules) Finding {
	findings := make([]Finding, len(ranks))
	for i, rank := range ranks {
		findings[i] = Judge(rank, rules)
	}
	// Whole seconds are all that the report tells. Within one, a bare exit code explains less than anything else.
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.bareness(), b.bareness()))
	})
	cause, i := Guilty(findings)
	if i < 0 {
		return failed(f, rest, rules)
	}
	if cause.Role == RoleCascade || cause.saysNothing() && rest.shared == nil { // another rank, which was stopped for it or met the same, may have said why
		if own := ownWords(f, rest, rules, RoleRoot); own != nil {
			cause = *own
		}
	}
	cause.Names, cause.Hosts = nil, nil
	for _, g := range findings {
		cause.Names, cause.Hosts = append(cause.Names, g.Names...), append(cause.Hosts, g.Hosts...)
	}
	slices.Sort(cause.Hosts)
	cause.Hosts = slices.Compact(cause.Hosts)
	slices.Sort(cause.Names)
	cause.Names = slices.Compact(cause.Names)
	cause.At, cause.Node = rest.At, rest.Node
	cause.WorkerCode = f.WorkerCode
	cause.Message = fmt.Sprintf("%s (the launcher exited %d)", cause.Message, rest.Status.Code)
	if len(cause.Output) == 0 {
		cause.Output = rest.Output
	}
	return cause
}

// saysNothing reports whether nothing is known of a rank but the code with which it exited. Where no line says whose it is, all have
// been read for it.
func (f Finding) saysNothing() bool {
	return f.Rule == "" && f.ExitCode != nil && *f.ExitCode < CodeNotExecutable && f.Evidence == answer(Status{Code: *f.ExitCode})
}
