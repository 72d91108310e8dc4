package rendezvous

import (
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestAbandoned is what a job's record says when nothing else of the job is left.
func TestAbandoned(t *testing.T) {
	for name, tc := range map[string]struct {
		edit              func(*Job)
		phase             Phase // "" for nothing
		used, preemptions int
	}{
		"ran":                    {func(*Job) {}, Suspended, 1, 0},
		"was leaving":            {func(j *Job) { j.Phase, j.Stop = Stopping, &Stop{Kind: StopDeparture} }, Suspended, 0, 1},
		"had failed":             {func(j *Job) { j.Phase, j.Stop = Stopping, &Stop{Kind: StopFailure, Reason: "Error"} }, Suspended, 1, 0},
		"had failed, was judged": {func(j *Job) { j.Phase, j.Stop = Stopping, &Stop{Kind: StopFailure, Judged: true} }, Suspended, 0, 0},
		"saved for one that leaves": {func(j *Job) {
			j.Save = &Save{Round: j.Round, Kind: StopDeparture, Node: "a", Why: "it is leaving", Agreed: true}
		}, Suspended, 0, 1},
		"saved, and its budget is spent": {func(j *Job) {
			j.Budget.Used = 3
			j.Save = &Save{Round: j.Round, Kind: StopDeparture, Node: "a", Why: "it is leaving", Agreed: true}
		}, Suspended, 3, 1},
		"saved before it is suspended": {func(j *Job) {
			j.Save = &Save{Round: j.Round, Kind: StopSuspend, Agreed: true}
		}, Suspended, 0, 0},
		"had saved in an earlier round": {func(j *Job) {
			j.Round, j.NextRound, j.Save = 1, 2, &Save{Kind: StopDeparture, Node: "a"}
		}, Suspended, 1, 0},
		"waited for nodes":           {func(j *Job) { j.Phase = Forming }, Suspended, 0, 0},
		"was suspended":              {func(j *Job) { j.Phase = Suspended }, Suspended, 0, 0},
		"its budget is spent":        {func(j *Job) { j.Budget.Used = 3 }, Failed, 3, 0},
		"restarts are for others":    {func(j *Job) { j.Spec.Restarts.Never = true }, Suspended, 0, 0},
		"there never were any":       {func(j *Job) { j.Spec.Restarts.Max = 0 }, Suspended, 0, 0},
		"waited for its first nodes": {func(j *Job) { j.Phase, j.Round, j.NextRound = Forming, -1, 0 }, "", 0, 0},
		"had ended":                  {func(j *Job) { j.Phase, j.End = Succeeded, &End{Verdict: exitcodes.Success} }, "", 0, 0},
	} {
		s := runningStage(t, DefaultSpec(2))
		record := s.v.Job.clone()
		tc.edit(record)
		before := *record
		got := record.Abandoned(s.now)
		switch {
		case tc.phase == "" && got == nil:
			continue
		case got == nil || got.Phase != tc.phase || got.Budget.Used != tc.used || got.Budget.Preemptions != tc.preemptions:
			t.Errorf("%s: %+v", name, got)
			continue
		case record.Phase != before.Phase || record.Budget.Used != before.Budget.Used:
			t.Errorf("%s: the record itself was changed", name)
		}
		// In a new store it is taken over, and continues where it was.
		s = newStage(t, DefaultSpec(2))
		s.v.Token = "store-b"
		s.join("a", func(n *Node) { n.Carried = got })
		s.join("b")
		if tc.phase == Failed {
			s.settle(ActAdopt)
			s.phase(Failed)
			continue
		}
		s.settle(ActAdopt, ActResume, ActForm)
		if s.v.Round.Number != got.NextRound || s.v.Job.Budget.Used != tc.used {
			t.Errorf("%s: round %d, budget %+v", name, s.v.Round.Number, s.v.Job.Budget)
		}
	}
}
