package agent

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
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

// TestADeletedRecordOfTheJobIsPutBack deletes it by hand in each phase of a job of several rounds. Nothing stops for that,
// nothing is charged, and no round has a number twice, whether or not the one that leads has written the record itself.
func TestADeletedRecordOfTheJobIsPutBack(t *testing.T) {
	for name, another := range map[string]bool{"by the leader": false, "by the next leader": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const last = 3
				m := store.NewInMemory()
				byHand := m.Connect(clock)
				defer byHand.Close()
				remove := func() {
					t.Helper()
					storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete(jobKey)}})
				}
				var log heard
				nodes := parties{join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(2), func(c *Config) {
					c.Log = slog.New(slog.NewTextHandler(&log, nil))
				})}
				time.Sleep(2 * tick)
				remove() // while nodes are waited for
				nodes = append(nodes, join(t, m.Connect(clock), "node1", rendezvous.DefaultSpec(2), nil))
				for round := range last + 1 {
					nodes.start(round)
					time.Sleep(time.Minute)
					if another { // who has led has no vote for a moment
						storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete(store.Candidates)}})
						time.Sleep(retryMost)
					}
					remove()
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
					remove() // while it is waited for
					time.Sleep(3 * goneTime)
					nodes[0].Gone(round, rendezvous.Outcome{}, nil)
				}
				nodes.succeed(last)
				if !log.has("the job's record was deleted") {
					t.Error("nobody says so")
				}
			})
		})
	}
}

// TestAnEarlierRecordComesBack puts records of round 0 in the place of those of round 1, as who restores a backup of
// the store does. The newer ones are put back, and nothing stops for that. Where no leader remembers them, the workers
// stop, and the job continues with what there is.
func TestAnEarlierRecordComesBack(t *testing.T) {
	for name, forgotten := range map[string]bool{"remembered": false, "forgotten": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				byHand := m.Connect(clock)
				defer byHand.Close()
				nodes := gang(t, m, 2)
				charged := func() int {
					t.Helper()
					kv := storetest.Commit(t, byHand, store.Txn{Read: []string{jobKey}}).Read[0]
					job, err := rendezvous.ParseJob(kv.Key, kv.Value)
					if err != nil {
						t.Fatal(err)
					}
					return job.Budget.Total
				}
				nodes.start(0)
				time.Sleep(time.Minute)
				then := []store.Op{store.Delete(roundKey(1))}
				for _, kv := range storetest.Commit(t, byHand, store.Txn{Read: []string{jobKey, roundsKey, nodesKey + "node1"}}).Read {
					then = append(then, store.Put(kv.Key, kv.Value))
				}
				nodes.fail(1, 0)
				nodes.start(1)
				time.Sleep(time.Minute)
				if forgotten {
					for _, p := range nodes {
						p.heard.Store(nil)
					}
				}
				storetest.Commit(t, byHand, store.Txn{Then: then})
				next, want := 2, 2 // failures
				if forgotten {
					want = 0 // the record of then knows of none
					for _, p := range nodes {
						p.stops()
					}
				} else {
					time.Sleep(time.Minute)
					nodes.hearNothing()
					nodes.fail(1, 1)
				}
				nodes.start(next)
				if got := charged(); got != want {
					t.Errorf("%d restarts are charged, want %d", got, want)
				}
				nodes.succeed(next)
			})
		})
	}
}

// TestNoLeaderRemembersTheRound deletes the record of the round that runs, where no leader can put it back.
func TestNoLeaderRemembersTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		nodes := gang(t, m, 2)
		nodes.start(0)
		time.Sleep(time.Minute)
		for _, p := range nodes {
			p.newest.Store(nil)
		}
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete(roundKey(0))}})
		for _, p := range nodes {
			p.stops()
		}
		nodes.start(1)
		nodes.succeed(1)
	})
}

// TestNoLeaderRemembersTheJob starts a job over whose record somebody has deleted. There may be a node of it that
// nobody sees, which is given the time to stop, and a line says so.
func TestNoLeaderRemembersTheJob(t *testing.T) {
	for name, left := range map[string]bool{"a round is left": true, "nothing is left": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				byHand := m.Connect(clock)
				defer byHand.Close()
				if left {
					storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(roundKey(3), []byte("any"))}})
				}
				var log heard
				began := time.Now()
				p := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(1), func(c *Config) {
					c.Log = slog.New(slog.NewTextHandler(&log, nil))
				})
				first := 0
				if left {
					first = 4
				}
				p.starts(first)
				if took := time.Since(began); (took >= rendezvous.DefaultFence) != left {
					t.Errorf("it begins after %v", took)
				}
				if log.has("no leader remembers it: the job starts over") != left {
					t.Errorf("it says %s", log.all())
				}
			})
		})
	}
}

// TestMembersTellTheSpecAgain deletes everything of a job but its nodes' keys, and no leader remembers it. Those of
// members have not told the spec since the job's record did; to start over, somebody has to.
func TestMembersTellTheSpecAgain(t *testing.T) {
	for name, waits := range map[string]bool{"while it runs": false, "while it waits to start again": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				byHand := m.Connect(clock)
				defer byHand.Close()
				spec := rendezvous.DefaultSpec(2)
				spec.Restarts.Backoff, spec.Restarts.BackoffMax = rendezvous.Duration(time.Hour), rendezvous.Duration(time.Hour)
				nodes := gangOf(t, m, 2, spec, nil)
				nodes.start(0)
				round := 0
				for ; waits && round < 2; round++ { // the second restart has to wait
					nodes[0].Gone(round, killed, nil)
					nodes[1].stops()
					if round == 0 {
						nodes.start(1)
					}
				}
				time.Sleep(10 * time.Second)
				for _, kv := range storetest.Commit(t, byHand, store.Txn{Read: []string{nodesKey}}).Read {
					if strings.Contains(string(kv.Value), `"spec":`) {
						t.Errorf("%s: a member tells the spec: %s", kv.Key, kv.Value)
					}
				}
				for _, p := range nodes {
					p.heard.Store(nil)
					p.newest.Store(nil)
				}
				storetest.Commit(t, byHand, store.Txn{Then: []store.Op{
					store.Delete(jobKey), store.Delete(roundsKey), store.Delete(store.Candidates),
				}})
				if !waits {
					round++
					for _, p := range nodes {
						p.stops()
					}
				}
				nodes.start(round)
				nodes.succeed(round)
			})
		})
	}
}

// TestAnEndThatIsDeleted: the record of a job that has ended is put back, too, for those that have not read it, and for
// the rest of its time. Then nothing is left.
func TestAnEndThatIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		p := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		p.Gone(0, well, nil)
		there := func() []store.KV { return storetest.Commit(t, byHand, store.Txn{Read: []string{jobKey}}).Read }
		for range 2 {
			time.Sleep(rendezvous.DefaultTTL / 4)
			storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete(jobKey)}})
			time.Sleep(2 * tick)
			if kvs := there(); len(kvs) != 1 || !kvs[0].Leased {
				t.Fatalf("the record is %+v", kvs)
			}
		}
		if e := p.ends(); e.Verdict != exitcodes.Success {
			t.Errorf("%+v", *e)
		}
		time.Sleep(rendezvous.DefaultTTL/2 - time.Minute)
		if len(there()) != 1 {
			t.Error("it is gone before its time")
		}
		time.Sleep(2 * time.Minute)
		if left := storetest.Commit(t, byHand, store.Txn{Read: []string{""}}).Read; len(left) != 0 {
			t.Errorf("%d keys are left: %+v", len(left), left)
		}
	})
}

// TestNoNumberTwice deletes all of a suspended job, and lets a newcomer lead that knows nothing. The other one has been
// in no round, but has read the record: the newcomer's first round has the number after those.
func TestNoNumberTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		nodes := gang(t, m, 2)
		nodes.start(0)
		suspend, err := rendezvous.Encode(&rendezvous.Control{V: 1, ID: "c", Verb: rendezvous.VerbSuspend})
		if err != nil {
			t.Fatal(err)
		}
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(controls+"c", suspend)}})
		for _, p := range nodes {
			p.stops()
		}
		for _, p := range nodes {
			p.ends()
			p.Close()
		}
		knows := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(2), nil)
		time.Sleep(time.Minute)
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete("")}})
		leads := join(t, m.Connect(clock), "node2", rendezvous.DefaultSpec(2), nil)
		leads.starts(1)
		knows.starts(1)
	})
}
