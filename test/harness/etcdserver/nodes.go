package etcdserver

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/test/harness"
)

// TwoNodes starts n0 and n1 of a job over these servers. what says what is special about each.
func (c *Cluster) TwoNodes(
	t testing.TB, job string, limit time.Duration, what func(node string) harness.Job,
) map[string]*harness.Running {
	t.Helper()
	nodes := map[string]*harness.Running{}
	for _, node := range []string{"n0", "n1"} {
		j := what(node)
		j.Flags = append([]string{"--nodes", "2", "--store", c.Endpoints()[0], "--job", job, "--node", node}, j.Flags...)
		nodes[node] = j.Start(t, limit)
	}
	return nodes
}

// Records are all keys of all jobs, with their values.
func (c *Cluster) Records(t testing.TB) map[string]string {
	t.Helper()
	all, err := c.Admin(t).Get(t.Context(), "/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]string{}
	for _, kv := range all.Kvs {
		records[string(kv.Key)] = string(kv.Value)
	}
	return records
}
