package kubernetes_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// tryEtcd is try with jobset.yaml, whose nodes meet at an etcd of its own.
func tryEtcd(t *testing.T, switches ...string) (*trial, kind, []client.Object) {
	t.Helper()
	k := kinds[1]
	objects := k.objects(t)
	r := prepare(t, switches...)
	etcd := etcdserver.StartFor(t, r.cluster.Host(), 1, nil)
	setting(k.container(t, objects), "STORE", strings.Join(etcd.Endpoints(), ","))
	setting(k.container(t, objects), "MAX_RESTARTS", "1")
	setting(k.container(t, objects), "MAX_SAME_FAILURE", "0") // or it would be fatal by then
	r.create(objects)
	return r, k, objects
}

// TestBudgetIsSpentInEtcd is a new attempt of the JobSet, for which the etcd has the record of the one before.
func TestBudgetIsSpentInEtcd(t *testing.T) {
	t.Parallel()
	r, k, objects := tryEtcd(t, "0:--die-at=15", "0:--die-rank=1", "0:--how=exit:200")
	if c := k.ended(r, objects); !c.succeeded {
		t.Errorf("%+v", c)
	}
	r.twice()
}

// TestFirstPodIsEvictedFromEtcd takes pod 0 away, which is no more than any other where the store is elsewhere: nothing
// waits for the fence.
func TestFirstPodIsEvictedFromEtcd(t *testing.T) {
	t.Parallel()
	r, k, objects := tryEtcd(t)
	r.evict("0", nil)
	if c := k.ended(r, objects); !c.succeeded {
		t.Errorf("%+v", c)
	}
	r.wantOneEvicted(k.job+"-0", 143)
	for _, e := range r.ends() {
		if e.Verdict == exitcodes.Success && e.RecoverySeconds > 30 {
			t.Errorf("%s: %s", e.pod, e.text)
		}
	}
}
