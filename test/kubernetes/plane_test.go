package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// plane is a control plane: everything of a cluster but its nodes.
type plane struct {
	client.WithWatch
	dir       string
	etcd      *etcdserver.Cluster
	url       string
	processes []*process
}

// sharedPlane is the control plane of all tests, each of which has a namespace of its own.
type sharedPlane struct {
	once sync.Once
	plane
	err error
}

var shared sharedPlane

func (s *sharedPlane) get(t *testing.T) *plane {
	t.Helper()
	s.once.Do(func() { s.err = s.start() })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return &s.plane
}

// patience is how long a test waits for anything. Most of it is for a busy machine.
const patience = 2 * time.Minute

// token is the administrator's.
const token = "administrator"

func (p *plane) start() (err error) {
	if p.dir, err = os.MkdirTemp("", "kubernetes"); err != nil {
		return err
	}
	if p.etcd, err = etcdserver.Start(filepath.Join(p.dir, "etcd"), "127.0.0.1", 1, nil); err != nil {
		return err
	}
	keys, err := makeKeys(p.dir)
	if err != nil {
		return err
	}
	if err := p.startServer(keys); err != nil {
		return err
	}
	if err := p.connect(); err != nil {
		return err
	}
	jobsetDir, trainerDir, err := modules()
	if err != nil {
		return err
	}
	for _, directory := range []string{jobsetDir + "/config/components/crd/bases", trainerDir + "/manifests/base/crds"} {
		if err := p.installTypes(directory); err != nil {
			return err
		}
	}
	return errors.Join(p.startControllers(), p.startJobSet(jobsetDir, keys), p.startTrainer(trainerDir, keys))
}

// startServer starts the API server, as in a real cluster but for what would need nodes.
func (p *plane) startServer(k keys) error {
	addr, err := etcdserver.FreeAddr("127.0.0.1")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(addr)
	p.url = "https://" + addr
	tokens := filepath.Join(p.dir, "tokens")
	if err := os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return err
	}
	if err := p.run("kube-apiserver", nil,
		"--etcd-servers="+p.etcd.Endpoints()[0], "--bind-address=127.0.0.1", "--secure-port="+port, "--endpoint-reconciler-type=none",
		"--tls-cert-file="+k.cert, "--tls-private-key-file="+k.key,
		"--token-auth-file="+tokens, "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file="+k.key, "--service-account-key-file="+k.key,
		"--service-cluster-ip-range=10.96.0.0/16", "--disable-admission-plugins=ServiceAccount",
	); err != nil {
		return err
	}
	return p.await(p.url + "/readyz")
}

// startControllers starts those of Kubernetes' controllers that have to do with jobs.
func (p *plane) startControllers() error {
	config, err := p.kubeconfig()
	if err != nil {
		return err
	}
	return p.run("kube-controller-manager", nil, "--kubeconfig="+config, "--secure-port=0", "--leader-elect=false",
		"--controllers=job-controller,garbage-collector-controller")
}

func (p *plane) startJobSet(module string, k keys) error {
	port, probe, err := twoPorts()
	if err != nil {
		return err
	}
	if err := p.runManager("jobset", fmt.Sprintf(`
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "127.0.0.1:%s"}
webhook: {host: 127.0.0.1, port: %s, certDir: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
`, probe, port, k.dir), probe); err != nil {
		return err
	}
	return p.installWebhooks(module+"/config/components/webhook/manifests.yaml", "jobset", port, k)
}

func (p *plane) startTrainer(module string, k keys) error {
	port, probe, err := twoPorts()
	if err != nil {
		return err
	}
	if err := p.runManager("trainer-controller-manager", fmt.Sprintf(`
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "127.0.0.1:%s"}
webhook: {host: 127.0.0.1, port: %s}
leaderElection: {leaderElect: false}
certManagement: {enable: false}
`, probe, port), probe); err != nil {
		return err
	}
	return p.installWebhooks(module+"/manifests/base/webhook/manifests.yaml", "trainer", port, k)
}

// runManager starts an operator and waits until it is ready.
func (p *plane) runManager(name, config, probe string) error {
	kubeconfig, err := p.kubeconfig()
	if err != nil {
		return err
	}
	file := filepath.Join(p.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	// In its temporary directory an operator looks for the certificate of its webhooks.
	env := []string{"KUBECONFIG=" + kubeconfig, "TMPDIR=" + p.dir}
	if err := p.run(name, env, "--config="+file); err != nil {
		return err
	}
	return p.await("http://127.0.0.1:" + probe + "/readyz")
}

// kubeconfig writes the file by which programs find the API server.
func (p *plane) kubeconfig() (string, error) {
	file := filepath.Join(p.dir, "kubeconfig")
	return file, os.WriteFile(file, []byte(fmt.Sprintf(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, p.url, token)), 0o600)
}

// connect makes the test's own client.
func (p *plane) connect() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, policyv1.AddToScheme, jobset.AddToScheme, trainer.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config := &rest.Config{Host: p.url, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 1000, Burst: 1000}
	var err error
	p.WithWatch, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

// installTypes installs the custom resources in a directory, and waits until they are served.
func (p *plane) installTypes(directory string) error {
	files, err := filepath.Glob(directory + "/*_*.yaml")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no types in %s: %w", directory, err)
	}
	for _, file := range files {
		objects, err := readObjects(file)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := p.Create(context.Background(), o); err != nil {
				return err
			}
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
			versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
			version := versions[0].(map[string]any)["name"].(string)
			if err := p.await(strings.Join([]string{p.url, "apis", group, version, plural}, "/")); err != nil {
				return err
			}
		}
	}
	return nil
}

// installWebhooks registers an operator's webhooks, at the address that it has here.
func (p *plane) installWebhooks(file, name, port string, k keys) error {
	objects, err := readObjects(file)
	if err != nil {
		return err
	}
	for _, o := range objects {
		o.SetName(name)
		hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, h := range hooks {
			path, _, _ := unstructured.NestedString(h.(map[string]any), "clientConfig", "service", "path")
			h.(map[string]any)["clientConfig"] = map[string]any{"url": "https://127.0.0.1:" + port + path, "caBundle": k.bundle}
		}
		o.Object["webhooks"] = hooks
		if err := p.Create(context.Background(), o); err != nil {
			return err
		}
	}
	return nil
}

// await waits until there is an answer of success at the URL.
func (p *plane) await(url string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	last := errors.New("no answer")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { // nobody tells
		for _, process := range p.processes {
			if err := process.over(); err != nil {
				return err
			}
		}
		response, err := insecure.Do(request)
		if err != nil {
			last = err
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		last = errors.New(response.Status)
	}
	return fmt.Errorf("%s: %w", url, last)
}

// namespace makes the namespace of one test.
func (p *plane) namespace(t *testing.T) string {
	t.Helper()
	name := strings.Trim(sanitized(t.Name()), "-")
	err := p.Create(t.Context(), &corev1.Namespace{ObjectMeta: named("", name)})
	for n := 1; apierrors.IsAlreadyExists(err); n++ { // the test is run several times
		name = fmt.Sprint(strings.Trim(sanitized(t.Name()), "-"), "-", n)
		err = p.Create(t.Context(), &corev1.Namespace{ObjectMeta: named("", name)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func (p *plane) end() {
	for _, process := range p.processes {
		process.kill()
	}
	if p.etcd != nil {
		p.etcd.End()
	}
	_ = os.RemoveAll(p.dir)
}
