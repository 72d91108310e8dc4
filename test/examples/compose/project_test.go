package compose_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/kubelet"
)

// load reads files of the example as docker compose does: a key that the specification does not know is an error, and
// so is one that contradicts another.
func load(t *testing.T, env []string, files ...string) *types.Project {
	t.Helper()
	var paths []string
	for _, file := range files {
		paths = append(paths, filepath.Join(harness.Root(), "examples", "compose", file))
	}
	options, err := cli.NewProjectOptions(paths, cli.WithEnv(env), cli.WithConsistency(true), cli.WithInterpolation(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// nodes are the names of the services that are nodes of the job, in their order.
func nodes(p *types.Project) (names []string) {
	for name := range p.Services {
		if strings.HasPrefix(name, "node") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// party is a job as compose runs it: a container for each node, reachable by the service's name.
type party struct {
	t       *testing.T
	cluster *kubelet.Cluster
	nodes   []*kubelet.Started
	volume  string // the one that the nodes share
}

// up starts the nodes in a network of their own. The arguments are added to the trainer's.
func up(t *testing.T, p *types.Project, policy kubelet.RestartPolicy, arguments ...string) *party {
	t.Helper()
	return upIn(t, kubelet.New(t), p, policy, nil, arguments...)
}

// upIn starts the nodes in this network, with env added to each container's environment.
func upIn(t *testing.T, c *kubelet.Cluster, p *types.Project, policy kubelet.RestartPolicy, env []string, arguments ...string) *party {
	t.Helper()
	party := &party{t: t, cluster: c, volume: t.TempDir()}
	train := filepath.Join(harness.Root(), "examples", "train")
	mounts := []kubelet.Mount{
		{Host: filepath.Join(harness.Root(), "test", "examples", "compose", "testdata", "torchrun"), Path: "/usr/local/bin/torchrun", ReadOnly: true},
		{Host: train, Path: "/srv", ReadOnly: true},
		{Host: party.volume, Path: "/checkpoints"},
	}
	for _, name := range nodes(p) {
		s := p.Services[name]
		command := slices.Concat(s.Command, arguments)
		for i, word := range command {
			if word == "/srv/train.py" {
				command[i] = "/srv/plain.py"
			}
		}
		container := kubelet.Container{Name: name, Command: s.Entrypoint, Args: command, Mounts: mounts, Env: []string{"GANGRUN_CHECKPOINT_PATTERN=step-*.json"}}
		for key, value := range s.Environment {
			container.Env = append(container.Env, key+"="+*value)
		}
		container.Env = append(container.Env, env...)
		pod := c.Start(kubelet.Pod{
			Name: name, Hostname: s.Hostname, Containers: []kubelet.Container{container},
			RestartPolicy: policy, GracePeriod: time.Duration(*s.StopGracePeriod),
		})
		c.Service(name, pod)
		party.nodes = append(party.nodes, pod)
	}
	return party
}

// until waits until that is true of every node.
func (p *party) until(what string, ok func(n *kubelet.Started) bool) {
	p.t.Helper()
	for late := time.After(limit); ; {
		changed := p.cluster.Changed()
		if !slices.ContainsFunc(p.nodes, func(n *kubelet.Started) bool { return !ok(n) }) {
			return
		}
		select {
		case <-changed:
		case <-late:
			p.t.Fatal("never: ", what)
		}
	}
}

// end waits until every node has left, and wants this code of all of them.
func (p *party) end(code int) {
	p.t.Helper()
	p.until("the end", func(n *kubelet.Started) bool { return n.Status().Containers[0].Terminated != nil })
	for _, n := range p.nodes {
		if s := n.Status().Containers[0]; s.Terminated.ExitCode != code || s.RestartCount > 0 {
			p.t.Errorf("%s exited with %v after %d restarts; want %d", n.Pod.Name, s.Terminated, s.RestartCount, code)
		}
	}
}

// want wants the nodes, all together, to have printed this so many times.
func (p *party) want(text string, times int) {
	p.t.Helper()
	n := 0
	for _, node := range p.nodes {
		n += strings.Count(node.Output(), text)
	}
	if n != times {
		p.t.Errorf("%q was printed %d times instead of %d", text, n, times)
	}
}
