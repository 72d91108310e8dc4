package kubelet

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// leastGrace is what the kubelet gives a container whatever the pod says.
const leastGrace = 2 * time.Second

// Started is a pod that was started.
type Started struct {
	Pod     Pod
	cluster *Cluster
	network string // its network namespace
	address netip.Addr

	status  []ContainerStatus // guarded by the cluster's lock
	output  output
	deleted chan struct{} // closed by Delete and Kill
	killed  chan struct{} // closed by Kill
	once    struct{ deleted, killed sync.Once }
	done    chan struct{}
}

// Start starts the pod. Its containers start beside each other, and the pod stays as it is, with its address, until all
// have ended for good or the pod was deleted.
func (c *Cluster) Start(pod Pod) *Started {
	c.t.Helper()
	p := &Started{Pod: pod, cluster: c, deleted: make(chan struct{}), killed: make(chan struct{}), done: make(chan struct{})}
	p.Pod.Hostname = cmp.Or(pod.Hostname, pod.Name)
	p.Pod.GracePeriod = max(cmp.Or(pod.GracePeriod, 30*time.Second), leastGrace)
	p.output.grown = sync.NewCond(&p.output.mu)
	for _, container := range pod.Containers {
		p.status = append(p.status, ContainerStatus{Name: container.Name})
	}
	c.change(func() {
		p.network = fmt.Sprintf("%s-%d", c.name, len(c.pods))
		p.address = netip.MustParseAddr(fmt.Sprintf("%s.%d", c.net, 2+len(c.pods)))
		c.pods = append(c.pods, p)
	})
	p.connect()
	if pod.Subdomain != "" {
		c.Service(p.Pod.Hostname+"."+pod.Subdomain, p)
	}
	var living sync.WaitGroup
	for i := range pod.Containers {
		living.Go(func() { p.live(i) })
	}
	go func() {
		living.Wait()
		p.output.close()
		c.ip("netns", "delete", p.network)
		close(p.done)
	}()
	return p
}

// connect makes the pod's network.
func (p *Started) connect() {
	c := p.cluster
	c.t.Helper()
	c.ip("netns", "add", p.network)
	c.ip("-n", p.network, "link", "add", "eth0", "type", "veth", "peer", "name", p.network, "netns", c.name)
	c.ip("-n", c.name, "link", "set", p.network, "master", "bridge", "up")
	c.ip("-n", p.network, "address", "add", p.address.String()+"/24", "dev", "eth0")
	c.ip("-n", p.network, "link", "set", "eth0", "up")
	c.ip("-n", p.network, "link", "set", "lo", "up")
}

// live is a container's life.
func (p *Started) live(container int) {
	report := func(f func(s *ContainerStatus)) { p.cluster.change(func() { f(&p.status[container]) }) }
	for {
		i := p.instance(container)
		if i.awaitStart() {
			report(func(s *ContainerStatus) { s.StartedAt = i.started })
		}
		select {
		case <-i.done:
		case <-p.deleted:
			p.stop(i)
		}
		end := i.end()
		restart := p.restarts(end)
		report(func(s *ContainerStatus) {
			s.StartedAt = time.Time{}
			if s.Terminated = end; restart {
				s.Last, s.Terminated = end, nil
				s.RestartCount++
			}
		})
		if !restart {
			return
		}
		select {
		case <-time.After(p.Pod.RestartDelay):
		case <-p.deleted:
			report(func(s *ContainerStatus) { s.Terminated = end })
			return
		}
	}
}

// stop stops an instance as one of a deleted pod: its first process gets SIGTERM, and all of it SIGKILL when the time is
// over.
func (p *Started) stop(i *instance) {
	i.terminate()
	select {
	case <-i.done:
	case <-p.killed:
	case <-time.After(p.Pod.GracePeriod):
	}
	i.kill()
	<-i.done
}

func (p *Started) restarts(end *Terminated) bool {
	select {
	case <-p.deleted:
		return false
	default:
	}
	return p.Pod.RestartPolicy == Always || p.Pod.RestartPolicy == OnFailure && end.ExitCode != 0
}

// Status is the pod's status now.
func (p *Started) Status() Status {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	s := Status{Phase: Succeeded, IP: p.address.String(), Containers: slices.Clone(p.status)}
	over := !slices.ContainsFunc(s.Containers, func(c ContainerStatus) bool { return c.Terminated == nil })
	begun := !slices.ContainsFunc(s.Containers, func(c ContainerStatus) bool {
		return !c.Running() && c.Terminated == nil && c.Last == nil
	})
	switch {
	case over && slices.ContainsFunc(s.Containers, func(c ContainerStatus) bool { return c.Terminated.ExitCode != 0 }):
		s.Phase = Failed
	case over:
	case begun:
		s.Phase = Running
	default:
		s.Phase = Pending
	}
	return s
}

// Delete stops the pod's containers as one does when the pod was deleted, or evicted with grace. It does not wait.
func (p *Started) Delete() { p.once.deleted.Do(func() { close(p.deleted) }) }

// Kill ends all of the pod's processes at once: the grace period is 0.
func (p *Started) Kill() {
	p.once.killed.Do(func() { close(p.killed) })
	p.Delete()
}

// Lose takes the pod away as its node is lost: first its network, so that nobody hears of its end, then its processes.
func (p *Started) Lose() {
	p.cluster.t.Helper()
	p.Cut()
	p.Kill()
}

// Cut cuts the pod off from the network.
func (p *Started) Cut() { p.link("down") }

// Heal ends that.
func (p *Started) Heal() { p.link("up") }

func (p *Started) link(state string) {
	p.cluster.t.Helper()
	p.cluster.ip("-n", p.cluster.name, "link", "set", p.network, state)
}

// Done is closed when all is over: the containers have ended for good, and the pod's network is gone.
func (p *Started) Done() <-chan struct{} { return p.done }

// Output is what the pod's containers have printed so far.
func (p *Started) Output() string {
	p.output.mu.Lock()
	defer p.output.mu.Unlock()
	return p.output.all.String()
}

// Await waits until a container has printed text, and fails the test if the pod ends without it.
func (p *Started) Await(text string) {
	p.cluster.t.Helper()
	o := &p.output
	o.mu.Lock()
	defer o.mu.Unlock()
	for !bytes.Contains(o.all.Bytes(), []byte(text)) {
		if o.closed {
			p.cluster.t.Fatalf("pod %s ended without printing %q:\n%s", p.Pod.Name, text, o.all.String())
		}
		o.grown.Wait()
	}
}

// output takes what the containers print.
type output struct {
	mu     sync.Mutex
	grown  *sync.Cond
	all    bytes.Buffer
	closed bool
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.grown.Broadcast()
	return o.all.Write(b)
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.grown.Broadcast()
}
