package exitcodes

import "bytes"

var (
	palsExited = lazy(`(?m)^\S+: rank \d+ exited with code [1-9]\d{0,2}\s*$`)
	palsKilled = lazy(`(?m)^\S+: rank \d+ died from signal 15\s*$`)
)

// stoppedByPALS reports whether the mpiexec of PALS, which Cray's machines have, exits with the code of a rank that it stopped
// itself, since another one had exited with a code of its own: that one's words say why.
func stoppedByPALS(o Outcome) bool {
	if o.Status != (Status{Code: CodeSignalBase + sigterm}) {
		return false
	}
	end := o.Output[max(0, len(o.Output)-palsEnd):]
	exited := palsExited().FindIndex(end)
	if exited == nil {
		return false
	}
	killed := palsKilled().FindIndex(end)
	return killed != nil && exited[0] < killed[0] && !bytes.Contains(end[:exited[0]], []byte("died from signal"))
}

const palsEnd = 2 << 10 // bytes of an output in which mpiexec's last words are looked for
