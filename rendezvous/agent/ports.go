package agent

import (
	"github.com/gangrun/gangrun/rendezvous/port"
)

// ports are what the node has reserved: for the round that runs, and for the next.
type ports struct {
	current, next *port.Port
}

// reservePort keeps a port for a round whose first rank this node may be.
func (n *node) reservePort() {
	if n.cfg.ReservePort == nil {
		return
	}
	wanted := 0
	if pin := n.record.Pin; n.record.Port == 0 && (pin == nil || *pin == 0) { // else this node is not the master
		wanted = n.cfg.FirstPort
	}
	p, err := n.cfg.ReservePort(wanted)
	if err != nil && wanted != 0 {
		n.log.Warn("the requested port is not free; using another", "err", err)
		p, err = n.cfg.ReservePort(0)
	}
	if err != nil {
		n.log.Warn("no port to offer to the other nodes", "err", err)
		n.record.Port = 0
		return
	}
	n.ports.next, n.record.Port = p, p.Number
}
