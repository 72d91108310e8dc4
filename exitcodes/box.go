package exitcodes

import "bytes"

// adviceHeads begin what Open MPI says, between two rules, about a failure of which it does not know the cause.
var adviceHeads = []string{
	"ORTE was unable to reliably start", "PRTE was unable to reliably start", "Primary job  terminated normally",
	"mpirun detected that one or more processes exited with non-zero", "ORTE does not know how to route a message",
	"mpirun has exited due to process rank", "prterun has exited due to process rank", "prterun detected that one or more processes exited with non-zero",
	"It looks like MPI_INIT failed for some reason", "It looks like orte_init failed for some reason", "It looks like opal_init failed for some reason",
}

const (
	minRule   = 40 // dashes
	maxAdvice = 40 // lines
)

// findAdvice marks a launcher's paragraphs of general advice as noise: what it says may have happened did not.
func (r *reader) findAdvice() {
	for i := 0; i < len(r.lines); i++ {
		if !r.lines[i].says(adviceHeads...) {
			continue
		}
		end := i + 1
		for end < len(r.lines) && end <= i+maxAdvice && !isRule(r.lines[end].text) {
			end++
		}
		if end > i+maxAdvice {
			continue
		}
		from := i
		if end == len(r.lines) && (i == 0 || !isRule(r.lines[i-1].text)) { // without any rule its first line may be all that was said
			from++
		}
		for k := from; k < end; k++ {
			r.lines[k].traits = traitNoise
		}
		for _, k := range []int{i - 1, end} { // the rules around it, of which either may be cut off
			if k >= 0 && k < len(r.lines) && isRule(r.lines[k].text) {
				r.lines[k].traits = traitNoise | traitEcho
			}
		}
		i = end
	}
}

// boxHead is the first line of the box of Open MPI's to which line i belongs: that says what happened, and the rest explains it. Else
// it is i.
func (r *reader) boxHead(i int) int {
	for j := i; j > 0 && i-j <= maxAdvice; j-- {
		if isRule(r.lines[j].text) {
			break
		}
		if isRule(r.lines[j-1].text) {
			if r.lines[j].blank() || j < i && (!r.closed(i) || r.lines[i].is(traitError) && !r.lines[j].is(traitError) || !prose(r.lines[j].text)) {
				return i
			}
			return j
		}
		if r.lines[j].blank() && !r.closed(i) {
			break
		}
	}
	return i
}

// closed reports whether the box to which line i belongs, if any, ends with a rule.
func (r *reader) closed(i int) bool {
	for j := i; j < len(r.lines) && j-i <= maxAdvice; j++ {
		if isRule(r.lines[j].text) {
			return true
		}
	}
	return false
}

// isRule reports whether a line is a rule of dashes.
func isRule(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) >= minRule && len(bytes.Trim(text, "-")) == 0
}
