package trainingoperator_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/kubelet"
)

// pod is one that the operator has made, and what runs of it.
type pod struct {
	name    string
	uid     types.UID
	started atomic.Pointer[kubelet.Started] // nil before that
	lost    atomic.Bool                     // its node is gone: nobody reports how it ended
	deleted atomic.Bool                     // somebody has asked for that
}

// kubelet does what the API wants of the node: starts pods, stops them, reports how they are.
func (o *operator) kubelet(ctx context.Context) {
	var list corev1.PodList
	if err := o.api.List(ctx, &list); err != nil {
		o.t.Error(err)
		return
	}
	orphaned := o.current() == nil
	for i := range list.Items {
		if orphaned && list.Items[i].DeletionTimestamp == nil { // the garbage collector deletes it
			o.written(o.api.Delete(ctx, &list.Items[i]))
			continue
		}
		o.look(ctx, &list.Items[i])
	}
	o.names(ctx, list.Items)
}

// look brings the pod and what runs of it together.
func (o *operator) look(ctx context.Context, object *corev1.Pod) {
	p := o.known(object)
	started := p.started.Load()
	if started == nil {
		if object.DeletionTimestamp != nil {
			o.release(ctx, object)
		} else if o.initialized(ctx, object) {
			p.started.Store(o.cluster.Start(o.spec(object)))
		}
		return
	}
	if object.DeletionTimestamp != nil {
		p.deleted.Store(true)
		started.Delete()
	}
	over := false
	select {
	case <-started.Done():
		over = true
	default:
	}
	if now := report(started); !p.lost.Load() && !same(object.Status, now) {
		object.Status = now
		o.written(o.api.Status().Update(ctx, object))
		return // the operator is to see it, whatever comes next
	}
	if over && object.DeletionTimestamp != nil {
		o.release(ctx, object)
	} else if phase := object.Status.Phase; !over && (phase == corev1.PodFailed || phase == corev1.PodSucceeded) {
		o.again = time.After(10 * time.Millisecond) // all has ended, and is about to be cleared away
	}
}

// release lets go of a pod that is being deleted.
func (o *operator) release(ctx context.Context, object *corev1.Pod) {
	object.Finalizers = nil
	o.written(o.api.Update(ctx, object))
}

// written takes the result of a write. What was changed by somebody else meanwhile is written at the next look, for which
// that change is the cause.
func (o *operator) written(err error) {
	if err != nil && !errors.IsConflict(err) && !errors.IsNotFound(err) {
		o.t.Error(err)
	}
}

// known is what is known of the pod.
func (o *operator) known(object *corev1.Pod) *pod {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.pods {
		if p.uid == object.UID {
			return p
		}
	}
	p := &pod{name: object.Name, uid: object.UID}
	o.pods = append(o.pods, p)
	return p
}

// initialized reports whether the pod's init containers are over. The only one is the operator's own, which waits until
// the master's name resolves.
func (o *operator) initialized(ctx context.Context, object *corev1.Pod) bool {
	if len(object.Spec.InitContainers) == 0 {
		return true
	}
	var master corev1.Pod
	key := client.ObjectKey{Namespace: namespace, Name: o.job.GetName() + "-master-0"}
	return o.api.Get(ctx, key, &master) == nil && master.Status.Phase == corev1.PodRunning
}

// names gives the job's services to the pods that they select.
func (o *operator) names(ctx context.Context, list []corev1.Pod) {
	var services corev1.ServiceList
	if err := o.api.List(ctx, &services); err != nil {
		o.t.Error(err)
		return
	}
	for _, service := range services.Items {
		var behind []*kubelet.Started
		for i := range list {
			if started := o.known(&list[i]).started.Load(); started != nil && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(list[i].Labels)) {
				behind = append(behind, started)
			}
		}
		o.cluster.Service(service.Name, behind...)
	}
}

// spec is the pod as this kubelet takes it.
func (o *operator) spec(object *corev1.Pod) kubelet.Pod {
	p := kubelet.Pod{
		Name: object.Name, Hostname: object.Spec.Hostname, Subdomain: object.Spec.Subdomain,
		RestartPolicy: kubelet.RestartPolicy(object.Spec.RestartPolicy),
	}
	if s := object.Spec.TerminationGracePeriodSeconds; s != nil {
		p.GracePeriod = time.Duration(*s) * time.Second
	}
	for _, c := range object.Spec.Containers {
		container := kubelet.Container{Name: c.Name, Command: c.Command, Args: c.Args, WorkingDir: c.WorkingDir, Mounts: slices.Clone(o.mounts)}
		for _, e := range c.Env {
			if e.ValueFrom != nil {
				o.t.Errorf("variable %s: only plain values are known here", e.Name)
			}
			container.Env = append(container.Env, e.Name+"="+e.Value)
		}
		for _, m := range c.VolumeMounts {
			container.Mounts = append(container.Mounts, kubelet.Mount{Host: o.volume(object, m.Name), Path: m.MountPath, ReadOnly: m.ReadOnly})
		}
		if s := c.SecurityContext; s != nil {
			container.ReadOnlyRoot = s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem
			if s.RunAsUser != nil {
				container.User = int(*s.RunAsUser)
			}
		}
		p.Containers = append(p.Containers, container)
	}
	return p
}

// volume is the directory that stands for the pod's volume: one for each claim, and one for each other volume of a pod.
func (o *operator) volume(object *corev1.Pod, name string) string {
	dir := filepath.Join(o.claims, string(object.UID), name)
	for _, v := range object.Spec.Volumes {
		if v.Name == name && v.PersistentVolumeClaim != nil {
			dir = filepath.Join(o.claims, v.PersistentVolumeClaim.ClaimName)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		o.t.Error(err)
	}
	return dir
}

// report is how the pod is, as the API has it.
func report(p *kubelet.Started) corev1.PodStatus {
	now := p.Status()
	status := corev1.PodStatus{Phase: corev1.PodPhase(now.Phase), PodIP: now.IP}
	for _, c := range now.Containers {
		s := corev1.ContainerStatus{Name: c.Name, RestartCount: int32(c.RestartCount), LastTerminationState: ended(c.Last), State: ended(c.Terminated)}
		switch {
		case c.Running():
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.StartedAt)}
			s.Ready = true
		case c.Terminated == nil:
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, s)
	}
	return status
}

func ended(t *kubelet.Terminated) corev1.ContainerState {
	if t == nil {
		return corev1.ContainerState{}
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: int32(t.ExitCode), Reason: t.Reason, Message: t.Message,
		StartedAt: metav1.NewTime(t.StartedAt), FinishedAt: metav1.NewTime(t.FinishedAt),
	}}
}

// same reports whether two statuses tell the same.
func same(a, b corev1.PodStatus) bool {
	return a.Phase == b.Phase && slices.EqualFunc(a.ContainerStatuses, b.ContainerStatuses, func(a, b corev1.ContainerStatus) bool {
		return a.RestartCount == b.RestartCount && (a.State.Running == nil) == (b.State.Running == nil) &&
			(a.State.Terminated == nil) == (b.State.Terminated == nil)
	})
}

// end is how a pod's training container ended.
type end struct {
	name string
	kubelet.Terminated
	exitcodes.Message
}

// ends waits until all pods there have ever been have ended, but for those that were lost, and returns how, in the order
// in which they were made.
func (o *operator) ends() (list []end) {
	o.t.Helper()
	for _, p := range o.all() {
		if p.lost.Load() {
			continue
		}
		o.until("the end of pod "+p.name, func() bool {
			started := p.started.Load()
			return started != nil && started.Status().Containers[0].Terminated != nil
		})
		list = append(list, o.end(p))
	}
	return list
}

// end is how the pod, which is over, has ended. Its message has to tell the code.
func (o *operator) end(p *pod) end {
	o.t.Helper()
	started := p.started.Load()
	e := end{name: p.name, Terminated: *started.Status().Containers[0].Terminated}
	var err error
	if e.Message, err = exitcodes.ParseMessage([]byte(e.Terminated.Message)); err != nil {
		o.t.Fatalf("%s: %v\n%q\n%s", p.name, err, e.Terminated.Message, started.Output())
	}
	if e.Message.ExitCode != e.Terminated.ExitCode {
		o.t.Errorf("%s: exit code %d, but the message says %d", p.name, e.Terminated.ExitCode, e.Message.ExitCode)
	}
	return e
}

// want ends the test unless the pod ended like that.
func (o *operator) want(e end, code int, verdict exitcodes.Verdict, reason string) {
	o.t.Helper()
	if e.Terminated.ExitCode != code || e.Verdict != verdict || e.Message.Reason != reason {
		o.t.Errorf("%s: exit code %d, %s, %s; want %d, %s, %s\n%s", e.name, e.Terminated.ExitCode, e.Verdict, e.Message.Reason,
			code, verdict, reason, e.Terminated.Message)
	}
}

// succeeds waits until the job has succeeded, as all its pods have, without a restart by the operator.
func (o *operator) succeeds() []end {
	o.t.Helper()
	o.becomes(kubeflow.JobSucceeded)
	ends := o.ends()
	for _, e := range ends {
		o.want(e, 0, exitcodes.Success, "Succeeded")
	}
	o.never(kubeflow.JobRestarting)
	o.never(kubeflow.JobFailed)
	o.undeleted()
	return ends
}

// all is a copy of what is known of all pods there have ever been.
func (o *operator) all() (list []*pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.pods)
}

// newest is the last pod of that name.
func (o *operator) newest(name string) *pod {
	o.t.Helper()
	all := o.all()
	for _, p := range slices.Backward(all) {
		if p.name == name {
			return p
		}
	}
	o.t.Fatalf("no pod %s", name)
	return nil
}

// undeleted ends the test if a pod was deleted, whoever has asked for that.
func (o *operator) undeleted() {
	o.t.Helper()
	for _, p := range o.all() {
		if p.deleted.Load() {
			o.t.Errorf("pod %s was deleted", p.name)
		}
	}
}

// preempt deletes the pod, as a scheduler does that needs its place.
func (o *operator) preempt(p *pod) {
	o.t.Helper()
	if err := o.api.Delete(context.Background(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.name}}); err != nil {
		o.t.Fatal(err)
	}
}

// lose takes the pod's node away. The pod is deleted without anybody knowing how it ended.
func (o *operator) lose(p *pod) {
	o.t.Helper()
	p.lost.Store(true)
	p.started.Load().Lose()
	<-p.started.Load().Done()
	o.preempt(p)
}

// object is the pod in the API, or nil if it is gone.
func (o *operator) object(p *pod) *corev1.Pod {
	o.t.Helper()
	var list corev1.PodList
	if err := o.api.List(context.Background(), &list); err != nil {
		o.t.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].UID == p.uid {
			return &list.Items[i]
		}
	}
	return nil
}

// saved reports whether the volume claim of the checkpoints has this one.
func (o *operator) saved(name string) bool {
	_, err := os.Stat(filepath.Join(o.claims, "checkpoints", name, "complete"))
	return err == nil
}
