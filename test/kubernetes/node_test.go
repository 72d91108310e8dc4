package kubernetes_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/v1/pod"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/test/kubelet"
)

// node runs the pods of one namespace: it is the scheduler, the node and the kubelet for them.
type node struct {
	t         *testing.T
	plane     *plane
	namespace string
	cluster   *kubelet.Cluster
	volumes   string          // a directory with one for each claim
	mounts    []kubelet.Mount // of every container: what stands in for the image

	ctx     context.Context
	living  sync.WaitGroup
	mu      sync.Mutex
	pods    []*runningPod // that were ever seen, in their order
	change  chan struct{} // closed when there is another one
	started int           // pods, each time they were
}

// runningPod is one pod of the API.
type runningPod struct {
	api     *corev1.Pod // as it was when it came
	node    *node
	address string
	deleted chan struct{} // closed when it is to be deleted
	grace   time.Duration // that it has then
	once    sync.Once
	over    chan struct{} // closed when its containers have ended for good
	runs    []*kubelet.Started
	last    corev1.PodStatus // that was reported
}

// startNode runs the pods that come into the namespace until the test ends.
func startNode(t *testing.T, p *plane, namespace string, mounts ...kubelet.Mount) *node {
	t.Helper()
	n := &node{t: t, plane: p, namespace: namespace, cluster: kubelet.New(t), volumes: t.TempDir(), mounts: mounts, change: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	n.ctx = ctx
	n.living.Go(n.watch)
	t.Cleanup(func() {
		if t.Failed() {
			n.show()
		}
		cancel()
		for _, r := range n.seen() {
			_, run := r.all()
			run.Kill()
		}
		n.living.Wait()
	})
	return n
}

func (n *node) watch() {
	for n.ctx.Err() == nil {
		w, err := n.plane.Watch(n.ctx, &corev1.PodList{}, client.InNamespace(n.namespace))
		if err != nil {
			if n.ctx.Err() == nil {
				n.t.Error(err)
			}
			return
		}
		for event := range w.ResultChan() {
			if p, ok := event.Object.(*corev1.Pod); ok {
				n.see(p)
			}
		}
	}
}

// see handles a pod, or that it is to go.
func (n *node) see(p *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.pods, func(r *runningPod) bool { return r.api.UID == p.UID })
	if i < 0 {
		if p.DeletionTimestamp != nil {
			return
		}
		i = len(n.pods)
		p.Spec.NodeName = fmt.Sprintf("machine-%d", i) // as a scheduler would; each pod has one of its own
		r := &runningPod{api: p, node: n, deleted: make(chan struct{}), over: make(chan struct{})}
		n.pods = append(n.pods, r)
		r.start()
		n.living.Go(r.live)
		close(n.change)
		n.change = make(chan struct{})
	}
	if p.DeletionTimestamp != nil {
		n.pods[i].once.Do(func() {
			n.pods[i].grace = time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
			close(n.pods[i].deleted)
		})
	}
}

// start starts the pod; again, if a container's own rules say so, which package kubelet does not know. Then it has another
// address, as it would not on a real node.
func (r *runningPod) start() {
	n := r.node
	r.address = fmt.Sprint(strings.TrimSuffix(n.cluster.Host(), "1"), 2+n.started) // a container may be told
	n.started++
	run := n.cluster.Start(r.translate())
	if got := run.Status().IP; got != r.address {
		n.t.Errorf("%s has the address %s, not %s", r.api.Name, got, r.address)
	}
	r.runs = append(r.runs, run)
}

// all are the pod's runs so far, of which the last one counts.
func (r *runningPod) all() (runs []*kubelet.Started, last *kubelet.Started) {
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	return slices.Clone(r.runs), r.runs[len(r.runs)-1]
}

// await waits until the pod, as it runs now, has printed text.
func (r *runningPod) await(text string) {
	_, run := r.all()
	run.Await(text)
}

// output is what the pod has printed.
func (r *runningPod) output() string {
	var all strings.Builder
	runs, _ := r.all()
	for _, run := range runs {
		all.WriteString(run.Output())
	}
	return all.String()
}

// seen are the pods so far.
func (n *node) seen() []*runningPod {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.pods)
}

// awaitPod waits for the pod that is the nth with that completion index.
func (n *node) awaitPod(index string, nth int) *runningPod {
	n.t.Helper()
	for late := time.After(patience); ; {
		n.mu.Lock()
		change, left := n.change, nth
		for _, r := range n.pods {
			if r.api.Annotations["batch.kubernetes.io/job-completion-index"] == index {
				if left == 0 {
					n.mu.Unlock()
					return r
				}
				left--
			}
		}
		n.mu.Unlock()
		select {
		case <-change:
		case <-late:
			n.t.Fatalf("pod %s does not come", index)
		}
	}
}

// live is a pod's life, as its kubelet sees it.
func (r *runningPod) live() {
	n := r.node
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	if err := n.plane.SubResource("binding").Create(n.ctx, r.api, binding); err != nil {
		n.failed(err)
	}
	for r.see(); r.startsAgain(); r.see() {
		n.mu.Lock()
		r.start()
		n.mu.Unlock()
	}
	close(r.over)
	select { // it stays until somebody deletes it
	case <-r.deleted:
	case <-n.ctx.Done():
		return
	}
	now := client.GracePeriodSeconds(0)
	if err := n.plane.Delete(n.ctx, r.api, now, client.Preconditions{UID: &r.api.UID}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		n.failed(err)
	}
}

// see sees one run of the pod to its end.
func (r *runningPod) see() {
	_, run := r.all()
	for deleted := r.deleted; ; {
		changed := r.node.cluster.Changed()
		r.report()
		select {
		case <-changed:
		case <-deleted:
			run.Delete()
			deleted = nil
			defer time.AfterFunc(r.grace, run.Kill).Stop()
		case <-run.Done():
			r.report()
			return
		}
	}
}

// startsAgain reports whether the container's own rules have it started again in its pod, by the kubelet's own judgement.
func (r *runningPod) startsAgain() bool {
	c := r.api.Spec.Containers[0]
	if c.RestartPolicy == nil {
		return false
	}
	select {
	case <-r.deleted:
		return false
	default:
	}
	_, run := r.all()
	end := run.Status().Containers[0].Terminated
	return end != nil && pod.ContainerShouldRestart(c, r.api.Spec, int32(end.ExitCode))
}

// report tells the API what the pod's status is, if it has changed.
func (r *runningPod) report() {
	runs, run := r.all()
	s := run.Status()
	status := corev1.PodStatus{Phase: corev1.PodPhase(s.Phase), PodIP: s.IP}
	ready := metav1.ConditionFalse
	switch {
	case s.Phase == kubelet.Running:
		ready = metav1.ConditionTrue
	case r.startsAgain(): // it has not failed: a Job that sees it failed replaces it at once
		status.Phase = corev1.PodRunning
	}
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionStatus(ready)}}
	for i, c := range s.Containers {
		container := corev1.ContainerStatus{
			Name: c.Name, Image: r.api.Spec.Containers[i].Image, Ready: c.Running(), RestartCount: int32(c.RestartCount + len(runs) - 1),
		}
		switch {
		case c.Terminated != nil:
			container.State.Terminated = terminated(c.Terminated)
		case c.Running():
			container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.StartedAt)}
		default:
			container.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		}
		if c.Last == nil && len(runs) > 1 {
			c.Last = runs[len(runs)-2].Status().Containers[i].Terminated
		}
		if c.Last != nil {
			container.LastTerminationState.Terminated = terminated(c.Last)
		}
		status.ContainerStatuses = append(status.ContainerStatuses, container)
	}
	if reflect.DeepEqual(status, r.last) {
		return
	}
	r.last = status
	before := r.api.DeepCopy()
	before.Status = corev1.PodStatus{}
	after := before.DeepCopy()
	after.Status = status
	err := r.node.plane.Status().Patch(r.node.ctx, after, client.StrategicMergeFrom(before))
	if err != nil && !apierrors.IsNotFound(err) {
		r.node.failed(err)
	}
}

func terminated(end *kubelet.Terminated) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: int32(end.ExitCode), Reason: end.Reason, Message: end.Message,
		StartedAt: metav1.NewTime(end.StartedAt), FinishedAt: metav1.NewTime(end.FinishedAt),
	}
}

// failed reports an error that is not for the test's having ended.
func (n *node) failed(err error) {
	if n.ctx.Err() == nil {
		n.t.Error(err)
	}
}

// show logs what the API knows of the namespace.
func (n *node) show() {
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.EventList{}} {
		if err := n.plane.List(context.Background(), list, client.InNamespace(n.namespace)); err != nil {
			n.t.Log(err)
		}
		switch list := list.(type) {
		case *corev1.PodList:
			for _, p := range list.Items {
				n.t.Logf("pod %s: %+v", p.Name, p.Status)
			}
		case *corev1.EventList:
			for _, e := range list.Items {
				n.t.Logf("%s %s: %s %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
			}
		}
	}
}
