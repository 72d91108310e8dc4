package etcd

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// mostJobs bounds how many jobs are listed.
const mostJobs = 1000

// NamedJob is a job of a namespace, and the value of its key "job"; nil where it has none.
type NamedJob struct {
	Name  string
	Value []byte
}

// Jobs lists the jobs of the namespace that c names, in the order of their keys. It reads one key of each job to find the next
// one, and its record: not the keys of their nodes, which may be thousands. more tells that there are others. Its errors are of
// the kinds of package store.
func Jobs(ctx context.Context, c Config) (jobs []NamedJob, more bool, err error) {
	prefix, err := store.NamespacePrefix(c.Namespace)
	if err != nil {
		return nil, false, fmt.Errorf("etcd: %w", err)
	}
	c.ReadOnly, c.Visitor = true, true
	s, err := open(ctx, c, prefix)
	if err != nil {
		return nil, false, err
	}
	defer s.Close()
	end := clientv3.GetPrefixRangeEnd(prefix)
	for from := prefix; ; {
		key, err := s.firstKey(ctx, from, end)
		if err != nil || key == "" {
			return jobs, false, err
		}
		part, _, below := strings.Cut(key[len(prefix):], "/")
		from = prefix + part + "0" // what follows '/'
		name, bad := store.Unescape(part)
		if !below || bad != nil || name == "" {
			from = key + "\x00" // nothing of gangrun's
			continue
		}
		if len(jobs) == mostJobs {
			return jobs, true, nil
		}
		job, err := s.jobOf(ctx, name, prefix+part+"/job")
		if err != nil {
			return jobs, false, err
		}
		jobs = append(jobs, job)
	}
}

func (s *Store) firstKey(ctx context.Context, from, end string) (string, error) {
	req, done := s.request(ctx)
	defer done()
	res, err := s.client.Get(req, from, clientv3.WithRange(end), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return "", s.explain(ctx, "list the jobs", err)
	}
	if len(res.Kvs) == 0 {
		return "", nil
	}
	return string(res.Kvs[0].Key), nil
}

func (s *Store) jobOf(ctx context.Context, name, key string) (NamedJob, error) {
	req, done := s.request(ctx)
	defer done()
	res, err := s.client.Get(req, key)
	if err != nil {
		return NamedJob{}, s.explain(ctx, "list the jobs", err)
	}
	job := NamedJob{Name: name}
	if len(res.Kvs) > 0 {
		job.Value = res.Kvs[0].Value
	}
	return job, nil
}
