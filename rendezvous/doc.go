// Package rendezvous is the agreement among the nodes of one job: who takes part in a round, with which rank, and when
// all stop and start again. It knows nothing of processes, and of its store only that every change has a revision.
//
// # How it works
//
// A job's state is a handful of records in a store (package store carries them):
//
//	job           Job      written by the leader: phase, round number, why it stopped, budget, spec
//	rounds/<r>    Round    written by the leader, once, in one transaction with job: members, ranks, master, resume point
//	members/<m>   MemberList  the members of a round of many, which names it; of most rounds they are those of the one before
//	nodes/<name>  Node     written by that node: waiting, running r, stopped r, done r, on its lease; left, without one
//	hosts/<host>  Host     written by the leader, in one transaction with job: faults of a machine, and whether it is banned
//	control/<id>  Control  written from outside: suspend, resume, restart, stop, unban
//
// Forming → Running → Stopping → Forming … → Succeeded or Failed; any → Suspended → Forming. Each node writes only its
// own record and watches job. The leader is whoever holds the election; nothing that matters is in its memory, so any
// other node can resume from the records. Three pure functions do all the deciding:
//
//   - Decide(View, now): what the leader writes next, or why nothing. decide.go picks the phase; forming.go,
//     running.go, stopping.go and finished.go are the phases; commands.go handles what comes from outside.
//   - Observe(Observations, View, puts, now): since when the leader has missed each member of the round. fence.go turns this
//     and the records into how a member stands: working, leaving, silent, or out (stopped, done, left, dead, fenced).
//   - React(Self, Reading, clock): what a node does about what it has read: Start, Halt, Acknowledge, Leave, ...
//     Guard is its half of the fence: when it must stop by itself.
//
// bans.go counts the faults of machines, each once for its round, and keeps the worst out while others suffice.
// cause.go finds the root cause of a stop, budget.go charges it, assign.go gives out ranks, resume.go picks the
// checkpoint. Every wait says what for (WhyNot).
//
// # What is promised, and by what
//
// Workers of two rounds never run at once (R1). A round is formed only when every member of the last one is out
// (waitForBarrier). These carry it; model_test.go (-tags model) takes each of them out of the design and shows what
// breaks, and agent/simulate_test.go holds the code to them:
//
//   - the leader's write compares the revision of job that it has read, and its election key (that alone would not do);
//   - job and rounds/<r> are one transaction (without: a leader that dies between blocks the job for ever);
//   - leaving is not stopped: the acknowledgement comes when the last process is gone;
//   - a newcomer is a proof of death only in the same boot and PID namespace, where it has killed what was left, or
//     where the operator never gives a name twice; and it never takes over a live lease;
//   - a member's silence starts again whenever its key was there in between, and after every lost watch (Observe);
//     nothing is decided on a view that is behind a linearizable read;
//   - a node starts workers only before its own deadline (start guard), stops them at it, counts it from when the
//     last renewal that succeeded was sent, and looks at the clock first when it wakes;
//   - a node that lost its lease reads job in the transaction that puts its key again, and drops its old watch;
//   - a round is never started twice by a node, and what is older than what it knows is dropped;
//   - a number is never given twice, whatever is deleted: each node tells the next one of which it has heard (Node.Next).
//
// Nothing stale counts (R2): records and outcomes carry the store's token, the run, the round and the incarnation. A
// failure is charged once: Stop.Judged. Commands are handled once: Job.Handled. All nodes end with one verdict and
// cause (R3), the one in Job.End; of the causes a root wins over a departure, that over a loss, that over echoes, and
// an echo never ends the job for good, and the leader stops nobody for it within a second, in which the cause may yet be
// told (a node that does not hear the leader stops its own workers after two: supervisor/node). All members resume from
// Round.Resume (R4). Only a worker's fatal verdict, a spent budget, an unusable checkpoint, a missing node or a stop
// command ends the job (R5). A node that could not reach the store says so (CutOff), and nothing is charged (R6). Pinned
// ranks are kept, others stay while the node lives, and a replacement takes the hole (R7); a job that shrinks closes its
// holes, since training wants ranks without any.
//
// A node that is called away, or a command that suspends the job, does not end a round at once whose members look for it:
// save.go has all of them save at one step, agreed through Job.Save, and the round stops after that. Nothing of what is
// promised rests on it: a save that does not come about ends as a departure without one.
//
// # What the shell around it must do
//
// The leader: fold every put of a node's key into Observe; read the store's revision before deciding and pass it as
// View.Read; write a Decision in one transaction that compares View.JobRev and the election key; pass zero Observations after
// a lost watch. It looks again at Decision.Next.
//
// A node: join only when nothing of its own earlier incarnation runs, with the key absent, or left behind by a node
// that has left (then After carries that farewell); compare its key's revision in every put, so that a late request
// undoes nothing; ask React after every reading, after every pause, and at Guard.StopAt; put its outcome at once when a
// worker fails (OutcomeRev keeps the revision of that put), and its acknowledgement when the last process is gone (that it
// has started a round decides nothing, and may wait until there is time, but not until it stops); put
// Spec while it has not read a live job of its run with that spec; adopt the run uid of the job when it has none, at
// the latest with the first round that it starts (a node without one that finds a finished job begins another run).
//
// Workers of a node whose role restarts alone (role.go) may be started again in the round that they failed in, when the node
// says so (Self.Again), and by a newcomer of that name: such roles are no part of R1.
//
// A store that has lost its data is another store: Token changes, each node stops its workers, joins again with the
// last job record it saw (Carried), and the newest is adopted; nothing is formed until one fence after View.NewSince,
// unless the whole gang is there and none of it brings a record.
//
// Times in records are the leader's clock, and moved to the reader's from when it first saw the record (Moved); only
// waiting and the backoff go by them. What keeps rounds apart goes by
// clocks that are never compared with another machine's.
package rendezvous
