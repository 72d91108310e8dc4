package exitcodes

import "fmt"

// Cause picks, among the findings about several workers, the one that caused the others: the strongest role, then
// the earliest. It returns -1 when none of them failed by itself. [Guilty] looks further where only echoes are known.
func Cause(findings []Finding) int {
	best := -1
	for i, f := range findings {
		if f.Verdict == Success || f.Role == RoleNone {
			continue
		}
		if best < 0 || f.Role > findings[best].Role ||
			f.Role == findings[best].Role && f.At.Before(findings[best].At) {
			best = i
		}
	}
	return best
}

// Guilty is Cause, and when all that is known is an echo or a suspicion, it reads what the workers that gangrun stopped
// had said about a failure of their own: a rank that has printed its traceback may take longer to end than its peers
// take to miss it. A rank that the echo names comes first. The finding is the one to act on; its index is that of the
// worker, -1 when nobody failed.
func Guilty(findings []Finding) (Finding, int) {
	best := Cause(findings)
	if best < 0 {
		return Finding{}, -1
	}
	echo := findings[best]
	if echo.Role >= RoleRoot {
		return echo, best
	}
	accused := map[int]bool{}
	namer := map[int]string{}
	for _, f := range findings {
		for _, rank := range f.Names {
			if !accused[rank] {
				accused[rank], namer[rank] = true, f.who()
			}
		}
	}
	guilty := -1
	for i, f := range findings {
		if f.Said == nil || f.Said.Role < RoleRoot {
			continue
		}
		if guilty < 0 || accused[f.Said.Rank] && !accused[findings[guilty].Said.Rank] {
			guilty = i
		}
	}
	if guilty >= 0 {
		f := *findings[guilty].Said
		f.Other = echo.Evidence
		f.also("the other candidate: " + clip(echo.Evidence))
		return f, guilty
	}
	for i, f := range findings {
		switch {
		case f.Rank < 0 || !accused[f.Rank] || i == best || f.Verdict == Success:
		case f.Role == RoleNone:
			echo.Message += Suspect(fmt.Sprintf("rank %d", f.Rank), namer[f.Rank])
		default:
			echo.also(fmt.Sprintf("rank %d is named in it", f.Rank))
		}
	}
	return echo, best
}

// Suspect is the end of a sentence about a failure that may be another's echo: whom the one who tells of it names,
// where that one has said nothing.
func Suspect(suspect, namer string) string {
	return fmt.Sprintf("; the suspect is %s, named by %s: it said nothing itself of a failure", suspect, namer)
}
