// Package trainjob tells Kubeflow Trainer v2 how far a TrainJob has come: it posts to the status server of Trainer's
// controller, which shows it in the TrainJob's status. Nothing that the server does, or does not do, holds training up.
package trainjob

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/observe/account"
)

// The variables by which Trainer says where its status server is, if its feature gate TrainJobStatus is on.
const (
	VariableURL   = "KUBEFLOW_TRAINER_SERVER_URL"
	variableCA    = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
	variableToken = "KUBEFLOW_TRAINER_SERVER_TOKEN"

	// VariableOff set to TRUE keeps the callback of transformers from posting to it.
	VariableOff = "DISABLE_KUBEFLOW_INTEGRATION"
)

const (
	postEvery   = 5 * time.Second // at most: Trainer asks its clients for that
	repeatEvery = time.Minute     // what has not changed
	postTime    = 5 * time.Second // for all tries of one status: then there is a newer one
	mostFile    = 64 << 10        // bytes of a token or a certificate
)

// Config is where a status goes, and what it is made of.
type Config struct {
	URL       string
	CA, Token string // paths: both files are read at each post, since Kubernetes renews them
	// At is the account at a time.
	At func(time.Time) account.Summary
	// Posts reports whether it is this process that posts: of a job's nodes one does, and none where somebody else does.
	Posts func(account.Summary) bool
	Log   *slog.Logger

	every time.Duration // 0: postEvery
}

// Find is where the status server is, by the variables; no URL: there is none. An error says what is wrong with them.
func Find(lookup func(string) (string, bool)) (Config, error) {
	var cfg Config
	cfg.URL, _ = lookup(VariableURL)
	if cfg.URL == "" {
		return cfg, nil
	}
	cfg.CA, _ = lookup(variableCA)
	cfg.Token, _ = lookup(variableToken)
	if u, err := url.Parse(cfg.URL); err != nil || u.Scheme != "https" || u.Host == "" {
		return cfg, fmt.Errorf("variable %s: want an address of https", VariableURL)
	}
	for name, value := range map[string]string{variableCA: cfg.CA, variableToken: cfg.Token} {
		if value == "" {
			return cfg, fmt.Errorf("variable %s is not set, %s is", name, VariableURL)
		}
	}
	return cfg, nil
}

// Poster posts the status until it is closed.
type Poster struct {
	cfg  Config
	stop chan struct{}
	work task.Task

	ca     []byte // the certificate that client trusts
	client *retryablehttp.Client

	posted     Status // the newest that was taken
	at         time.Time
	complained bool
}

// New begins to post.
func New(cfg Config) *Poster {
	if cfg.every == 0 {
		cfg.every = postEvery
	}
	p := &Poster{cfg: cfg, stop: make(chan struct{})}
	p.work = task.Begin(p.run)
	return p
}

// Close posts how the run has ended, and waits for that no longer than limit.
func (p *Poster) Close(limit time.Duration) {
	close(p.stop)
	p.work.EndsWithin(limit)
}

func (p *Poster) run() {
	tick := time.NewTicker(p.cfg.every)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-tick.C:
		case <-p.stop:
			over = true
		}
		now := time.Now()
		s := p.cfg.At(now)
		if !p.cfg.Posts(s) {
			continue
		}
		status := Of(s)
		if now.Sub(p.at) < repeatEvery && reflect.DeepEqual(status, p.posted) {
			continue
		}
		err := p.post(body(status, now))
		switch {
		case err == nil:
			p.posted, p.at, p.complained = status, now, false
		case !p.complained:
			p.complained = true
			p.cfg.Log.Warn("the TrainJob's status is out of date: Trainer's status server does not accept it; training continues, and "+
				"so do the tries", "err", err, "setting", words.SettingTrainJob)
		}
	}
}

// post sends one status. It is tried a few times within its time; after that there is a newer one to send.
func (p *Poster) post(content []byte) error {
	token, err := read(p.cfg.Token)
	if err != nil {
		return err
	}
	if err := p.trust(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), postTime)
	defer cancel()
	r, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, p.cfg.URL, content)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "gangrun")
	r.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	answer, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostFile)) // so that the connection serves again
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
	return fmt.Errorf("it answers %s: %q", answer.Status, bytes.TrimSpace(said))
}

// trust makes a client that trusts the certificate in the file, and nobody else; a new one where the file has changed.
func (p *Poster) trust() error {
	ca, err := read(p.cfg.CA)
	if err != nil {
		return err
	}
	if p.client != nil && bytes.Equal(ca, p.ca) {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return fmt.Errorf("%s: no certificate is in it", p.cfg.CA)
	}
	if p.client != nil {
		p.client.HTTPClient.CloseIdleConnections()
	}
	p.ca = ca
	p.client = &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConns: 1,
				IdleConnTimeout: 2 * repeatEvery, TLSHandshakeTimeout: postTime,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax: 2, RetryWaitMin: 200 * time.Millisecond, RetryWaitMax: time.Second,
		CheckRetry: retryablehttp.DefaultRetryPolicy, Backoff: retryablehttp.DefaultBackoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	return nil
}

// read reads a small file.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > mostFile:
		return nil, fmt.Errorf("%s has more than %d bytes", path, mostFile)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New(path + " is empty")
	}
	return data, nil
}
