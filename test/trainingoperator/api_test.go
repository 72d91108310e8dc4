package trainingoperator_test

import (
	"context"
	"fmt"
	"sync"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// hold keeps a pod in the API, being deleted, until its containers have ended, as the grace period does.
const hold = "test/kubelet"

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kubeflow.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// newAPI is an API in memory, which calls wrote after every change.
func newAPI(wrote func(client.Object)) client.Client {
	after := func(o client.Object, err error) error {
		if err == nil {
			wrote(o)
		}
		return err
	}
	return fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&kubeflow.PyTorchJob{}, &kubeflow.TFJob{}, &corev1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				o.SetUID(uuid.NewUUID())
				return after(o, c.Create(ctx, o, opts...))
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				return after(o, c.Update(ctx, o, opts...))
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				return after(o, c.Patch(ctx, o, p, opts...))
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return after(o, c.Delete(ctx, o, opts...))
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				return after(o, c.SubResource(sub).Update(ctx, o, opts...))
			},
		}).Build()
}

// stub is what the reconcilers want of a manager.
type stub struct {
	manager.Manager
	api    client.Client
	events *events
}

func (s stub) GetClient() client.Client                             { return s.api }
func (s stub) GetAPIReader() client.Reader                          { return s.api }
func (s stub) GetScheme() *runtime.Scheme                           { return scheme }
func (s stub) GetConfig() *rest.Config                              { return &rest.Config{Host: "http://nobody.invalid"} }
func (s stub) GetEventRecorderFor(name string) record.EventRecorder { return s.events }

// clientset is the API as the operator's own control of pods and services wants it: what they use of it.
type clientset struct {
	kubernetes.Interface
	api client.Client
}

func (c clientset) CoreV1() typedcorev1.CoreV1Interface { return core{api: c.api} }

type core struct {
	typedcorev1.CoreV1Interface
	api client.Client
}

func (c core) Pods(namespace string) typedcorev1.PodInterface {
	return pods{api: c.api, namespace: namespace}
}

func (c core) Services(namespace string) typedcorev1.ServiceInterface {
	return services{api: c.api, namespace: namespace}
}

type pods struct {
	typedcorev1.PodInterface
	api       client.Client
	namespace string
}

func (p pods) Create(ctx context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	pod.Namespace = p.namespace
	pod.Finalizers = append(pod.Finalizers, hold)
	return pod, p.api.Create(ctx, pod)
}

func (p pods) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, p.api.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, pod)
}

func (p pods) Delete(ctx context.Context, name string, _ metav1.DeleteOptions) error {
	pod, err := p.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return p.api.Delete(ctx, pod)
}

type services struct {
	typedcorev1.ServiceInterface
	api       client.Client
	namespace string
}

func (s services) Create(ctx context.Context, service *corev1.Service, _ metav1.CreateOptions) (*corev1.Service, error) {
	service.Namespace = s.namespace
	return service, s.api.Create(ctx, service)
}

func (s services) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Service, error) {
	service := &corev1.Service{}
	return service, s.api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, service)
}

func (s services) Delete(ctx context.Context, name string, _ metav1.DeleteOptions) error {
	service, err := s.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return s.api.Delete(ctx, service)
}

// events keeps what the operator tells.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) Event(_ runtime.Object, kind, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, fmt.Sprint(kind, " ", reason, ": ", message))
}

func (e *events) Eventf(o runtime.Object, kind, reason, format string, args ...any) {
	e.Event(o, kind, reason, fmt.Sprintf(format, args...))
}

func (e *events) AnnotatedEventf(o runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	e.Eventf(o, kind, reason, format, args...)
}
