package kubernetes_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// process is a program of the control plane. It ends with this one.
type process struct {
	name, log string
	cmd       *exec.Cmd
	done      chan struct{}
}

// run starts one of the programs that go.mod names as tools.
func (p *plane) run(tool string, env []string, args ...string) error {
	find := exec.Command("go", "tool", "-n", tool)
	find.Dir = directory()
	var complaint bytes.Buffer
	find.Stderr = &complaint
	path, err := find.Output()
	if err != nil {
		return fmt.Errorf("go tool -n %s: %w: %s", tool, err, complaint.Bytes())
	}
	r := &process{name: tool, log: filepath.Join(p.dir, tool+".log"), done: make(chan struct{})}
	log, err := os.Create(r.log)
	if err != nil {
		return err
	}
	defer log.Close()
	r.cmd = exec.Command(strings.TrimSpace(string(path)), args...)
	r.cmd.Env = append(os.Environ(), env...)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The signal comes when the thread ends that has started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := r.cmd.Start()
		started <- err
		if err == nil {
			_ = r.cmd.Wait()
			close(r.done)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	p.processes = append(p.processes, r)
	return nil
}

// over tells why the process has ended, if it has.
func (r *process) over() error {
	select {
	case <-r.done:
		return fmt.Errorf("%s ended (%v):\n%s", r.name, r.cmd.ProcessState, r.tail())
	default:
		return nil
	}
}

func (r *process) tail() string {
	log, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-8000):])
}

func (r *process) kill() {
	_ = r.cmd.Process.Kill()
	<-r.done
}

// directory is this module's.
func directory() string { return filepath.Join(harness.Root(), "test", "kubernetes") }

// modules finds the directories of JobSet's and Trainer's modules, which hold their custom resources and webhooks.
func modules() (jobset, trainer string, err error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/jobset", "github.com/kubeflow/trainer/v2")
	list.Dir = directory()
	out, err := list.Output()
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", list, err)
	}
	dirs := strings.Fields(string(out))
	if len(dirs) != 2 {
		return "", "", fmt.Errorf("%s: %q", list, out)
	}
	return dirs[0], dirs[1], nil
}

// twoPorts are two at which nobody listens.
func twoPorts() (string, string, error) {
	var ports [2]string
	for i := range ports {
		addr, err := etcdserver.FreeAddr("127.0.0.1")
		if err != nil {
			return "", "", err
		}
		_, ports[i], _ = net.SplitHostPort(addr)
	}
	return ports[0], ports[1], nil
}

// insecure is for certificates that only these tests know.
var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 5 * time.Second}

// keys are a key and its certificate, for all that the control plane serves and signs.
type keys struct {
	dir, cert, key string // files
	bundle         string // the certificate, for a webhook's configuration
}

// makeKeys makes them where controller-runtime looks for a webhook's, which is in a directory of the temporary
// directory.
func makeKeys(dir string) (k keys, err error) {
	k.dir = filepath.Join(dir, "k8s-webhook-server", "serving-certs")
	k.cert, k.key = filepath.Join(k.dir, "tls.crt"), filepath.Join(k.dir, "tls.key")
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return k, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return k, err
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return k, err
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return k, err
	}
	for file, block := range map[string]*pem.Block{k.cert: {Type: "CERTIFICATE", Bytes: cert}, k.key: {Type: "EC PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			return k, err
		}
	}
	k.bundle = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	return k, nil
}
