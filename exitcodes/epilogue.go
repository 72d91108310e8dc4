package exitcodes

import (
	"bytes"
	"slices"
)

// What is printed when the run is over: by the shell that had started it, by the script around it, by the scheduler. It says nothing of
// why the run ended, and what was said last stands before it.

// besideTheRun reports whether a line is of that kind: what a shell says of what it does next, the time, a farewell, what a command was
// to put away that the run had not written, and a job's report.
func besideTheRun(l *line) bool {
	if l.is(traitEpilogue) {
		return true
	}
	if l.says("mv: cannot ", "cp: cannot ", "rm: cannot ") {
		return bytes.HasSuffix(bytes.TrimSpace(l.text), []byte(": No such file or directory"))
	}
	return l.says("+ ", "++ ") || l.says("real\t", "user\t", "sys\t") && len(l.text) < 40 || isDate(l.text) || isFarewell(l.text) || isTyped(l.text) || ofProcess(l.text) || l.says(ofRunners...) || l.says(ofHydra...)
}

// isDate reports whether a line is what date prints, whatever its language, perhaps in brackets.
func isDate(text []byte) bool {
	text = bytes.Trim(text, "[] ")
	return len(text) < 40 && len(text) > 3 && text[3] == ' ' && weekdays[string(text[:3])] && bytes.ContainsAny(text, ":.")
}

var weekdays = set("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

// isFarewell reports whether a line is only a word that a script says at its end: "Done.", "=== finished ===".
func isFarewell(text []byte) bool {
	text = bytes.Trim(text[:min(len(text), 80)], " =-*#.!")
	return len(text) <= maxFarewell && farewells[string(bytes.ToLower(text))]
}

const maxFarewell = 12

var farewells = set("done", "all done", "finished", "complete", "completed", "end", "ended", "bye", "goodbye", "finish", "exit", "end of job", "job done", "job ended", "logout")

// ofRunners begins what a runner of CI says of itself when a job has failed, and others around the run.
var ofRunners = []string{"Cleaning up project directory", "Cleaning up orphan processes", "Uploading artifacts", "No files to upload", "Post job cleanup.", "Build step '", "Finished: FAILURE", "ERROR: Job failed: exit code", "ERROR: Job failed: exit status", "COMET INFO:", "Terminating remaining workers after failure of Process ", "Core dump written to ",
	"CommandNotFoundError: Your shell has not been properly configured to use 'conda"}

// ofHydra begins what mpiexec of MPICH prints around the one line that says how a rank ended.
var ofHydra = []string{"=====================================================", "=   BAD TERMINATION OF ONE OF", "=   CLEANING UP REMAINING PROCESSES", "=   YOU CAN IGNORE THE BELOW", "=   PID ", "=   RANK ", "=   EXIT CODE: 1"}

// isTyped reports whether a line is a shell's prompt with what a person typed behind it.
func isTyped(text []byte) bool {
	prompt, _, found := bytes.Cut(text[:min(len(text), 120)], []byte("$ "))
	return found && bytes.IndexByte(prompt, '@') > 0 && bytes.IndexByte(prompt, ':') > 0 && bytes.Count(prompt, []byte(" ")) <= 1
}

// findEpilogue marks the report of a scheduler about the job that has ended, and the table of GPUs that scripts print.
func (r *reader) findEpilogue() {
	for i := max(0, len(r.lines)-maxEpilogue); i < len(r.lines); i++ {
		switch l := &r.lines[i]; {
		case l.says("Sender: LSF System"):
			if r.untilReport(i) {
				return
			}
		case l.says("Job ID: ") && slices.ContainsFunc(r.lines[i:min(len(r.lines), i+seffHead)], func(l line) bool { return l.says("State: ") }):
			for ; i < len(r.lines) && r.lines[i].says(ofSeff...); i++ {
				r.lines[i].traits |= traitEpilogue
			}
		case l.contains("| NVIDIA-SMI "):
			if i > 0 && r.lines[i-1].says("+--") {
				i--
			}
			for ; i < len(r.lines) && (r.lines[i].says("+", "|") || r.lines[i].blank()); i++ {
				r.lines[i].traits |= traitEpilogue
			}
		}
	}
}

// ofSeff begins the lines of seff's report about a job of Slurm, whose state is one of the first.
var ofSeff = []string{"Job ID: ", "Array Job ID: ", "Cluster: ", "User/Group: ", "State: ", "Nodes: ", "Cores: ", "Cores per node: ", "CPU Utilized: ", "CPU Efficiency: ", "Job Wall-clock time: ",
	"Memory Utilized: ", "Memory Efficiency: ", "GPU ", "WARNING: Efficiency statistics"}

const seffHead = 6 // lines

// untilReport marks the lines from a report's first on, where nothing but the report follows, and says whether that is so. What it
// says of why the job was ended is no part of it: "TERM_MEMLIMIT: ...".
func (r *reader) untilReport(from int) bool {
	for i := from; i < len(r.lines); i++ {
		if l := &r.lines[i]; isHeader(l.text) || l.says("# LSBATCH") || l.contains("The output (if any) follows:") { // of a job whose output stands below it
			return false
		}
	}
	if from > 0 && isRule(r.lines[from-1].text) {
		r.lines[from-1].traits = traitNoise | traitEcho
	}
	for i := from; i < len(r.lines); i++ {
		if !r.lines[i].says("TERM_") {
			r.lines[i].traits |= traitEpilogue
		}
	}
	return true
}

const maxEpilogue = 80 // lines
