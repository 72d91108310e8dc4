package location

import (
	"context"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// Job is a job that a store has, by name.
type Job struct {
	Name string `json:"name"`
	// Record is nil where the job has none yet, or none any more, or one that cannot be read: then Unreadable says why.
	Record     *rendezvous.Job `json:"job"`
	Unreadable string          `json:"unreadable,omitempty"`
}

// Jobs lists the jobs in the store there, of the namespace that is named. more tells that there are others. It writes nothing,
// and opens no store that is not there. The error says why the store could not be read, and is of the kinds of package store.
func Jobs(ctx context.Context, l Location) (jobs []Job, more bool, err error) {
	if l.InProcess() {
		return nil, false, nil
	}
	if len(l.Endpoints) == 0 {
		l.Endpoints = []string{"http://" + l.Address()}
	}
	found, more, err := etcd.Jobs(ctx, etcd.Config{
		Endpoints: l.Endpoints, CA: l.CA, Cert: l.Cert, Key: l.Key, UserFile: l.UserFile, PasswordFile: l.PasswordFile,
		TokenFile: l.TokenFile, Namespace: l.Namespace, Log: l.Log,
	})
	for _, f := range found {
		j := Job{Name: f.Name}
		if f.Value != nil {
			record, bad := rendezvous.ParseJob("job", f.Value)
			if j.Record = record; bad != nil {
				j.Unreadable = bad.Error()
			}
		}
		jobs = append(jobs, j)
	}
	return jobs, more, err
}
