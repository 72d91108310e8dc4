package agent

import (
	"testing"

	"github.com/gangrun/gangrun/rendezvous"
)

func TestDeletedRound(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*rendezvous.View)
		want bool
	}{
		"deleted":                   {func(*rendezvous.View) {}, true},
		"it is there":               {func(v *rendezvous.View) { v.Round = &rendezvous.Round{Number: 3} }, false},
		"no job":                    {func(v *rendezvous.View) { v.Job = nil }, false},
		"another store":             {func(v *rendezvous.View) { v.Token = "t" }, false},
		"another run":               {func(v *rendezvous.View) { v.Job.RunUID = "w" }, false},
		"a later round":             {func(v *rendezvous.View) { v.Job.Round = 4 }, false},
		"before the first round":    {func(v *rendezvous.View) { v.Job.Round = -1 }, false},
		"the view is not up to now": {func(v *rendezvous.View) { v.Read++ }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &leader{Agent: &Agent{}, view: rendezvous.View{
				Token: "s", Rev: 9, Read: 9, Job: &rendezvous.Job{RunUID: "u", Round: 3, Phase: rendezvous.Running},
			}}
			tc.edit(&l.view)
			if l.deletedRound() != nil {
				t.Fatal("something is put back of which nobody knows")
			}
			l.newest.Store(&rendezvous.Round{Store: "s", RunUID: "u", Number: 3})
			if got := l.deletedRound(); (got != nil) != tc.want {
				t.Errorf("puts back %+v", got)
			}
		})
	}
}
