// Package event is the one account of what happens on a node: version 1 of its events, written as one JSON object on
// one line each. Whatever shows a job (metrics, the page, gangrun report) is made from these and from nothing else.
//
// The form is stable: keys and types of events may be added, but none changes its meaning as long as V stays 1. Readers
// skip what they do not know. An event holds no environment, no command line and no output beyond the line that decided
// a verdict.
package event
