package kubernetes_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/statusserver"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// bearer takes one token, for one TrainJob. The real one asks the cluster's issuer of tokens, which here there is none of.
type bearer struct{ namespace, name string }

func (bearer) Init(context.Context) error { return nil }

func (b bearer) Authorize(_ context.Context, header, namespace, name string) (bool, error) {
	return header == "Bearer of-this-job" && namespace == b.namespace && name == b.name, nil
}

// telling is a training run that has done 30 of its 120 steps, and ends when there is a file.
const telling = `
import os, socket, time
gangrun = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
while not os.path.exists(os.environ["FINISH"]):
    for step in 29, 30:
        gangrun.sendto(b"X_GANGRUN_STEPS=120\nX_GANGRUN_STEP=%d" % step, os.environ["NOTIFY_SOCKET"])
        time.sleep(0.1)
`

// TestTrainerShowsProgress: Trainer's status server takes what gangrun tells it, and it stands in the TrainJob's status.
func TestTrainerShowsProgress(t *testing.T) {
	t.Parallel()
	p := shared.get(t)
	namespace := p.namespace(t)
	objects := example(t, "trainjob.yaml")
	apart(objects, "progress")
	p.runtime(t, find[*trainer.ClusterTrainingRuntime](t, objects))
	job := find[*trainer.TrainJob](t, objects)
	job.SetNamespace(namespace)
	job.Spec.Suspend = new(true) // the test is its pod
	if err := p.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	k, err := makeKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		t.Fatal(err)
	}
	address, err := etcdserver.FreeAddr("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	_, number, _ := net.SplitHostPort(address)
	port, _ := strconv.ParseInt(number, 10, 32)
	server, err := statusserver.NewServer(p.WithWatch, &configapi.StatusServer{Port: new(int32(port))},
		&tls.Config{Certificates: []tls.Certificate{pair}}, bearer{namespace, job.Name})
	if err != nil {
		t.Fatal(err)
	}
	go server.Start(t.Context()) // it says nothing of its start; gangrun tries again

	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("of-this-job\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	finish := filepath.Join(dir, "finish")
	gangrun := harness.Start(t, patience, []string{
		"KUBEFLOW_TRAINER_SERVER_URL=https://" + address + statusserver.StatusUrl(namespace, job.Name),
		"KUBEFLOW_TRAINER_SERVER_CA_CERT=" + k.cert, "KUBEFLOW_TRAINER_SERVER_TOKEN=" + token, "FINISH=" + finish,
	}, harness.Binary(t), "run", "--", harness.Program(t, "python3", "install python3"), "-c", telling)
	var shown trainer.TrainJob
	status := func() *trainer.TrainerStatus {
		if err := p.Get(t.Context(), client.ObjectKeyFromObject(job), &shown); err != nil {
			t.Fatal(err)
		}
		return shown.Status.TrainerStatus
	}
	harness.Eventually(t, patience, "a TrainJob that says how far it is", func() bool {
		s := status()
		return s != nil && s.ProgressPercentage != nil && s.EstimatedRemainingSeconds != nil
	})
	s := status()
	figures := map[string]string{}
	for _, m := range s.Metrics {
		figures[m.Name] = m.Value
	}
	if *s.ProgressPercentage < 24 || *s.ProgressPercentage > 25 || *s.EstimatedRemainingSeconds < 1 ||
		figures["total_steps"] != "120" || figures["restarts"] != "0" || time.Since(s.LastUpdatedTime.Time).Abs() > patience {
		t.Errorf("%+v", s)
	}
	if err := os.WriteFile(finish, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if result := gangrun.Wait(); result.Code != 0 || strings.Contains(result.Stderr, "out of date") {
		t.Errorf("%d\n%s", result.Code, result.Stderr)
	}
	if s := status(); *s.ProgressPercentage != 100 || *s.EstimatedRemainingSeconds != 0 {
		t.Errorf("at the end: %+v", s)
	}
}
