// Package node decides what one node does: when its workers start and stop, what their ends mean, and how the node
// itself ends. It is the node's half of what rendezvous is for the job: pure. An event and the time go in
// ([Node.Step]), effects come out; package supervisor selects over what happens, turns it into events, and does the
// effects. Nothing here opens a file, sends a signal or looks at a clock.
//
// A node is in one [State] at a time, and [Node.transition] is the only way from one to the next. How the node ends is
// set in one place ([Node.endWith]), and whatever is told to stop has the same stop clock.
//
// Events and metrics read the events and effects of each step, as supervisor.Config.Observe is given them.
package node
