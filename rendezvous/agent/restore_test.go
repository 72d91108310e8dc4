package agent

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
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

// logged has a node's log kept.
func logged(log *heard) func(*Config) {
	return func(c *Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) }
}

// TestADeletedRecordOfTheJobIsPutBack deletes it by hand in each phase of a job of several rounds. Nothing stops for that,
// nothing is charged, and no round has a number twice, whether or not the one that leads has written the record itself.
func TestADeletedRecordOfTheJobIsPutBack(t *testing.T) {
	t.Run("by the leader", func(t *testing.T) { deletedInEachPhase(t, func(person) {}) })
	t.Run("by the next leader", func(t *testing.T) {
		deletedInEachPhase(t, func(by person) { // who has led has no vote for a moment
			by.deletes(store.Candidates)
			time.Sleep(retryMost)
		})
	})
}

func deletedInEachPhase(t *testing.T, first func(person)) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		const last = 3
		var log heard
		nodes := parties{join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(2), logged(&log))}
		time.Sleep(2 * tick)
		by.deletes(jobKey) // while nodes are waited for
		nodes = append(nodes, join(t, m.Connect(clock), "node1", rendezvous.DefaultSpec(2), nil))
		for round := range last + 1 {
			nodes.start(round)
			time.Sleep(time.Minute)
			first(by)
			by.deletes(jobKey)
			time.Sleep(time.Minute)
			nodes.hearNothing()
			if round == last {
				break
			}
			nodes[1].Failing(round, killed, nil)
			nodes[1].Gone(round, killed, nil)
			if o := nodes[0].next(); o.Stop == nil {
				t.Fatalf("got %s", describe(o))
			}
			by.deletes(jobKey) // while it is waited for
			time.Sleep(3 * goneTime)
			nodes[0].Gone(round, rendezvous.Outcome{}, nil)
		}
		nodes.succeed(last)
		if !log.has("the job's record was deleted") {
			t.Error("nobody says so")
		}
	})
}

// backup is what was in the store in round 0 of a job of two nodes that is in round 1 now, and how to put it back there.
func backup(t *testing.T, m *store.InMemory, by person) (nodes parties, restore []store.Op) {
	t.Helper()
	nodes = gang(t, m, 2)
	nodes.start(0)
	time.Sleep(time.Minute)
	restore = []store.Op{store.Delete(roundKey(1))}
	for _, kv := range by.reads(jobKey, roundsKey, nodesKey+"node1") {
		restore = append(restore, store.Put(kv.Key, kv.Value))
	}
	nodes.fail(1, 0)
	nodes.start(1)
	time.Sleep(time.Minute)
	return nodes, restore
}

// TestAnEarlierRecordComesBack puts records of round 0 in the place of those of round 1, as who restores a backup of
// the store does. The newer ones are put back, and nothing stops for that.
func TestAnEarlierRecordComesBack(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		nodes, restore := backup(t, m, by)
		by.does(restore...)
		time.Sleep(time.Minute)
		nodes.hearNothing()
		nodes.fail(1, 1)
		nodes.start(2)
		if got := by.charged(); got != 2 {
			t.Errorf("%d restarts are charged, want both", got)
		}
		nodes.succeed(2)
	})
}

// TestAnEarlierRecordIsAllThereIs does so where no leader remembers the newer ones: the workers stop, and the job continues
// with what there is, which knows of no failure.
func TestAnEarlierRecordIsAllThereIs(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		nodes, restore := backup(t, m, by)
		for _, p := range nodes {
			p.heard.Store(nil)
		}
		by.does(restore...)
		for _, p := range nodes {
			p.stops()
		}
		nodes.start(2)
		if got := by.charged(); got != 0 {
			t.Errorf("%d restarts are charged, of which the record did not know", got)
		}
		nodes.succeed(2)
	})
}

// TestNoLeaderRemembersTheRound deletes the record of the round that runs, where no leader can put it back.
func TestNoLeaderRemembersTheRound(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		nodes := gang(t, m, 2)
		nodes.start(0)
		time.Sleep(time.Minute)
		for _, p := range nodes {
			p.newest.Store(nil)
		}
		by.deletes(roundKey(0))
		for _, p := range nodes {
			p.stops()
		}
		nodes.start(1)
		nodes.succeed(1)
	})
}

const startsOver = "no leader remembers it: the job starts over"

// TestNoLeaderRemembersTheJob starts a job over whose record somebody has deleted, but not that of a round. There may be a
// node of it that nobody sees, which is given the time to stop, and a line says so.
func TestNoLeaderRemembersTheJob(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		by.does(store.Put(roundKey(3), []byte("any")))
		var log heard
		began := time.Now()
		join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(1), logged(&log)).starts(4)
		if took := time.Since(began); took < rendezvous.DefaultFence {
			t.Errorf("it begins after %v", took)
		}
		if !log.has(startsOver) {
			t.Errorf("it says %s", log.all())
		}
	})
}

// TestNothingIsLeftOfTheJob: then it is one that never was, and begins at once.
func TestNothingIsLeftOfTheJob(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		var log heard
		began := time.Now()
		join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(1), logged(&log)).starts(0)
		if took := time.Since(began); took >= rendezvous.DefaultFence {
			t.Errorf("it begins after %v", took)
		}
		if log.has(startsOver) {
			t.Errorf("it says %s", log.all())
		}
	})
}

// forgotten deletes everything of a job but its nodes' keys, and no leader remembers it. Those of members have not told the
// spec since the job's record did; to start over, somebody has to.
func forgotten(t *testing.T, nodes parties, by person) {
	t.Helper()
	time.Sleep(10 * time.Second)
	for _, kv := range by.reads(nodesKey) {
		if strings.Contains(string(kv.Value), `"spec":`) {
			t.Errorf("%s: a member tells the spec: %s", kv.Key, kv.Value)
		}
	}
	for _, p := range nodes {
		p.heard.Store(nil)
		p.newest.Store(nil)
	}
	by.deletes(jobKey, roundsKey, store.Candidates)
}

// slowToRestart is a job of two nodes whose second restart has to wait.
func slowToRestart(t *testing.T, m *store.InMemory) parties {
	t.Helper()
	spec := rendezvous.DefaultSpec(2)
	spec.Restarts.Backoff, spec.Restarts.BackoffMax = rendezvous.Duration(time.Hour), rendezvous.Duration(time.Hour)
	return gangOf(t, m, 2, spec, nil)
}

// TestMembersTellTheSpecAgain does that to a job that runs.
func TestMembersTellTheSpecAgain(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		nodes := slowToRestart(t, m)
		nodes.start(0)
		forgotten(t, nodes, by)
		for _, p := range nodes {
			p.stops()
		}
		nodes.start(1)
		nodes.succeed(1)
	})
}

// TestMembersThatWaitTellTheSpecAgain does that to one that waits to start again.
func TestMembersThatWaitTellTheSpecAgain(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		nodes := slowToRestart(t, m)
		for round := range 2 {
			nodes.start(round)
			nodes[0].Gone(round, killed, nil)
			nodes[1].stops()
		}
		forgotten(t, nodes, by)
		nodes.start(2)
		nodes.succeed(2)
	})
}

// TestAnEndThatIsDeleted: the record of a job that has ended is put back, too, for those that have not read it, and for
// the rest of its time. Then nothing is left.
func TestAnEndThatIsDeleted(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		p := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		p.Gone(0, well, nil)
		for range 2 {
			time.Sleep(rendezvous.DefaultTTL / 4)
			by.deletes(jobKey)
			time.Sleep(2 * tick)
			if kvs := by.reads(jobKey); len(kvs) != 1 || !kvs[0].Leased {
				t.Fatalf("the record is %+v", kvs)
			}
		}
		if e := p.ends(); e.Verdict != exitcodes.Success {
			t.Errorf("%+v", *e)
		}
		time.Sleep(rendezvous.DefaultTTL/2 - time.Minute)
		if len(by.reads(jobKey)) != 1 {
			t.Error("it is gone before its time")
		}
		time.Sleep(2 * time.Minute)
		if left := by.reads(""); len(left) != 0 {
			t.Errorf("%d keys are left: %+v", len(left), left)
		}
	})
}

// TestNoNumberTwice deletes all of a suspended job, and lets a newcomer lead that knows nothing. The other one has been
// in no round, but has read the record: the newcomer's first round has the number after those.
func TestNoNumberTwice(t *testing.T) {
	meddling(t, func(t *testing.T, m *store.InMemory, by person) {
		nodes := gang(t, m, 2)
		nodes.start(0)
		suspend, err := rendezvous.Encode(&rendezvous.Control{V: 1, ID: "c", Verb: rendezvous.VerbSuspend})
		if err != nil {
			t.Fatal(err)
		}
		by.does(store.Put(controls+"c", suspend))
		for _, p := range nodes {
			p.stops()
		}
		for _, p := range nodes {
			p.ends()
			p.Close()
		}
		knows := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(2), nil)
		time.Sleep(time.Minute)
		by.deletes("")
		leads := join(t, m.Connect(clock), "node2", rendezvous.DefaultSpec(2), nil)
		leads.starts(1)
		knows.starts(1)
	})
}
