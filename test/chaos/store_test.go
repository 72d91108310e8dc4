package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/test/chaos/history"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
	"github.com/gangrun/gangrun/test/harness/relay"
)

func (j *job) openStore() (err error) {
	host := "127.0.0.1"
	if j.networks() {
		host = j.slot.net.Host
	}
	if j.hosted {
		j.endpoint, err = etcdserver.FreeAddr("127.0.0.1")
		if j.networks() {
			_, port, _ := net.SplitHostPort(j.endpoint)
			j.endpoint = net.JoinHostPort(j.slot.spaces[0].Address, port)
		}
		return err
	}
	if j.etcd, err = etcdserver.Start(filepath.Join(j.dir, "etcd"), host, 3, nil); err != nil {
		return err
	}
	for range j.plan.nodes {
		var relays []*relay.Relay
		var ways []string
		for _, url := range j.etcd.Endpoints() {
			r, err := relay.New(host, url)
			if err != nil {
				return err
			}
			relays, ways = append(relays, r), append(ways, r.URL)
		}
		j.relays, j.ways = append(j.relays, relays), append(j.ways, ways)
	}
	j.admin, err = clientv3.New(clientv3.Config{Endpoints: j.etcd.Endpoints(), DialTimeout: 10 * time.Second, Logger: etcd.Zap(nil)})
	if err == nil {
		j.tasks.Go(j.watch)
	}
	return err
}

// watch keeps every version of the job's record.
func (j *job) watch() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	j.tasks.Go(func() {
		for !j.over() {
			time.Sleep(50 * time.Millisecond)
		}
		stop()
	})
	for answer := range j.admin.Watch(ctx, j.record("job"), clientv3.WithRev(1)) {
		for _, e := range answer.Events {
			var w history.Write
			if e.Type == clientv3.EventTypePut {
				if err := json.Unmarshal(e.Kv.Value, &w); err != nil || w.Run == "" {
					j.with(func() { j.give(fmt.Errorf("the job's record, %s: %v", e.Kv.Value, err)) })
				}
			}
			j.with(func() { j.past.Writes = append(j.past.Writes, w) })
		}
	}
}

// record is the job's records in the store.
func (j *job) record(key string) string { return "/gangrun/v1/default/" + j.name + "/" + key }

func (j *job) remove(key string, options ...clientv3.OpOption) bool {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	gone, err := j.admin.Delete(ctx, j.record(key), options...)
	return err == nil && gone.Deleted > 0
}
