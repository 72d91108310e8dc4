package exitcodes

import "bytes"

// adviceHeads begin what Open MPI says, between two rules, about a failure of which it does not know the cause.
var adviceHeads = []string{
	"ORTE was unable to reliably start", "PRTE was unable to reliably start", "Primary job  terminated normally",
	"mpirun detected that one or more processes exited with non-zero", "ORTE does not know how to route a message",
	"It looks like MPI_INIT failed for some reason", "It looks like orte_init failed for some reason", "It looks like opal_init failed for some reason",
}

const (
	minRule   = 40 // dashes
	maxAdvice = 40 // lines
)

// findAdvice marks a launcher's paragraphs of general advice as noise: what it says may have happened did not.
func (r *reader) findAdvice() {
	for i := 0; i < len(r.lines); i++ {
		if !isRule(r.lines[i].text) || i+1 == len(r.lines) || !r.lines[i+1].says(adviceHeads...) {
			continue
		}
		for j := i + 1; j < len(r.lines) && j <= i+maxAdvice; j++ {
			if isRule(r.lines[j].text) {
				for k := i + 1; k < j; k++ {
					r.lines[k].traits = traitNoise
				}
				r.lines[i].traits, r.lines[j].traits = traitNoise|traitEcho, traitNoise|traitEcho
				i = j
				break
			}
		}
	}
}

// isRule reports whether a line is a rule of dashes.
func isRule(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) >= minRule && len(bytes.Trim(text, "-")) == 0
}
