package command

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/sys/unix"
)

// heldName is a node's name that no other gangrun on this machine has.
type heldName struct {
	name string
	lock net.Listener
}

// recordID is equal for gangruns that meet in the same record: the same store, namespace and job.
func (o *options) recordID() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{o.location.String(), o.location.Namespace, o.location.Job}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// hold reserves a node's name on this machine. If another gangrun of the same record has it, a name derived from the host
// gets a suffix, and a name that was given is an error. The name is that of an abstract socket, so it is free again as soon
// as the process ends, however it ends.
func hold(record, name string, given bool) (heldName, error) {
	for i := 1; i < 1000; i++ {
		candidate := name
		if i > 1 {
			candidate = fmt.Sprintf("%s-%d", name, i)
		}
		sum := sha256.Sum256([]byte(candidate)) // a socket's name is short
		lock, err := net.Listen("unix", "@gangrun/"+record+"/"+hex.EncodeToString(sum[:8]))
		switch {
		case err == nil:
			return heldName{candidate, lock}, nil
		case !errors.Is(err, unix.EADDRINUSE):
			return heldName{}, fmt.Errorf("--node %s: %w", candidate, err)
		case given:
			return heldName{}, fmt.Errorf("--node %s: another gangrun of this job on this machine has that name", name)
		}
	}
	return heldName{}, errors.New("no name is left for this node")
}
