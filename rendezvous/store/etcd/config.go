// Package etcd keeps the record of a job in an etcd cluster.
//
// It uses etcd's own client for connections, requests and watches, and adds what that leaves open:
//
//   - Which store is it? A random token lies beside the record. Every transaction has it among its conditions, and a
//     watch looks at it before it goes on after an interruption. An etcd that was started again with an empty directory
//     has its old cluster id, so that cannot be the sign.
//   - How far is a watch? Every answer, of renewals too, shows a revision. A watch that does not get there within
//     seconds is given up for a new stream, which goes to the next endpoint: a member that is stopped or cut off
//     neither answers nor closes its connections. The answer to the question how far it is can be trusted since
//     etcd 3.4.25 and 3.5.8; before, it could overtake events, and there a read has to prove it (proof.go). An
//     update that is older than the view shows that it is wrong: it starts over.
//   - When was a renewal sent? The renewals go over a stream of our own.
//   - What is wrong? Refused, deaf, not TLS, wrong certificate: when requests fail, the endpoints are asked.
//
// Requests are bounded by Config.RequestTimeout, and go to the endpoints in turn; they are repeated here only if etcd
// says that it has not done them. The callers repeat the others, who know whether they may.
package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// Config says where the cluster is and how to get in.
type Config struct {
	// Name is what the cluster is called in errors; by default "etcd" and its endpoints.
	Name string
	// Endpoints are URLs, http or https, or just host:port, which means https if there is a CA or a certificate.
	// All must agree on that.
	Endpoints []string
	// CA, Cert and Key are PEM files. Without CA, the system's are trusted. A certificate that is renewed in place
	// is read again at the next connection.
	CA, Cert, Key string
	// UserFile and PasswordFile hold one line each, as in a mounted Kubernetes secret.
	UserFile, PasswordFile string
	// TokenFile holds one line that every request carries: a store within gangrun asks for it.
	TokenFile string
	// Namespace and Job name the record.
	Namespace, Job string
	// ReadOnly: make no record of a job that has none, and Commit nothing.
	ReadOnly bool
	// Visitor: make no record of a job that has none, but for a Commit that writes.
	Visitor bool
	// RequestTimeout bounds each request, 2 s if 0. A request that meets a dead endpoint takes that long.
	RequestTimeout time.Duration
	// Log gets what etcd's client reports; none if nil.
	Log *slog.Logger
}

const requestTimeout = 2 * time.Second

// access is a Config, read and checked.
type access struct {
	endpoints      []string
	tls            *tls.Config // nil: plain
	user, password string
	token          string
}

func (c Config) access() (access, error) {
	a := access{}
	secure := c.CA != "" || c.Cert != ""
	if len(c.Endpoints) == 0 {
		return a, errors.New("etcd: no endpoint is given")
	}
	for i, text := range c.Endpoints {
		u, err := endpoint(text, secure)
		if err != nil {
			return a, err
		}
		if i == 0 {
			secure = u.Scheme == "https"
		} else if secure != (u.Scheme == "https") {
			return a, fmt.Errorf("etcd: %s and %s: either all endpoints are https or none", a.endpoints[0], u)
		}
		a.endpoints = append(a.endpoints, u.String())
	}
	var err error
	if secure {
		if a.tls, err = c.tls(); err != nil {
			return a, err
		}
	} else if c.CA != "" || c.Cert != "" || c.Key != "" {
		return a, fmt.Errorf("etcd: %s: a CA or certificate is of no use without https", a.endpoints[0])
	}
	if (c.UserFile == "") != (c.PasswordFile == "") {
		return a, errors.New("etcd: a user file and a password file are needed, or neither")
	}
	if c.UserFile != "" {
		if a.user, err = Line("etcd: user", c.UserFile); err != nil {
			return a, err
		}
		if a.password, err = Line("etcd: password", c.PasswordFile); err != nil {
			return a, err
		}
	}
	if c.TokenFile != "" {
		if a.token, err = Line("the store's token", c.TokenFile); err != nil {
			return a, err
		}
	}
	return a, nil
}

// endpoint reads one endpoint. No error repeats a password that somebody has put there.
func endpoint(text string, secure bool) (*url.URL, error) {
	if strings.Contains(text, "@") {
		return nil, errors.New("etcd: an endpoint holds a user: give user and password as files instead")
	}
	if !strings.Contains(text, "://") {
		if secure {
			text = "https://" + text
		} else {
			text = "http://" + text
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("etcd: endpoint %q is not a URL like https://host:2379", text)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" ||
		strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("etcd: endpoint %q: want http or https, a host and a port, as in https://host:2379", text)
	}
	port := u.Port()
	if port == "" {
		port = "2379"
	}
	return &url.URL{Scheme: u.Scheme, Host: net.JoinHostPort(u.Hostname(), port)}, nil
}

func (c Config) tls() (*tls.Config, error) {
	if (c.Cert == "") != (c.Key == "") {
		return nil, fmt.Errorf("etcd: a client certificate needs both files: certificate %q, key %q", c.Cert, c.Key)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("etcd: CA: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("etcd: CA: %s holds no certificate in PEM form", c.CA)
		}
	}
	if c.Cert != "" {
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
			if err != nil {
				return nil, fmt.Errorf("client certificate %s with key %s: %w", c.Cert, c.Key, err)
			}
			return &pair, nil
		}
		if _, err := read(nil); err != nil {
			return nil, fmt.Errorf("etcd: %w", err)
		}
		conf.GetClientCertificate = read
	}
	return conf, nil
}

// longestLine is how long a secret may be, in bytes.
const longestLine = 4096

// Line reads a secret from a file of one line. No error repeats what is in it.
func Line(what, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	const most = longestLine + 2                      // and its end
	raw, err := io.ReadAll(io.LimitReader(f, most+1)) // one more tells that there is more
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	text := strings.TrimRight(string(raw), "\r\n")
	switch {
	case text == "":
		return "", fmt.Errorf("%s: %s is empty", what, file)
	case len(raw) > most || len(text) > longestLine || strings.ContainsFunc(text, unicode.IsControl):
		return "", fmt.Errorf("%s: %s holds more than one short line", what, file)
	}
	return text, nil
}

func (c Config) timeout() time.Duration {
	if c.RequestTimeout > 0 {
		return c.RequestTimeout
	}
	return requestTimeout
}

func (c Config) prefix() (string, error) {
	prefix, err := store.Prefix(c.Namespace, c.Job)
	if err != nil {
		return "", fmt.Errorf("etcd: %w", err)
	}
	return prefix, nil
}
