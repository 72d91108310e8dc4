// Package hang decides whether the workers of a node still get on. It is pure: signs of life and the time go in, and what
// is to be done about their absence comes out ([Detector.Tick]). It opens nothing, starts nothing and looks at no clock.
//
// Signs are of two kinds. What is told counts most: a finished step, a phase. What only shows is output, and what the
// processes use: CPU time and I/O. A hang is a silence of the whole node, since in synchronous training one rank that
// stands still soon holds up all: any progress of any rank ends the silence.
//
// A silence goes through four stages: half of the limit, which is worth a warning; suspicion, upon which evidence is
// gathered; confirmation, [ConfirmTime] later, unless anything was heard in between; action. Before two steps, or two
// pieces of output, there is no limit.
package hang
