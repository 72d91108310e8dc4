package objectstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

const (
	retries      = 5
	minRetryWait = 200 * time.Millisecond
	maxRetryWait = 20 * time.Second
	maxErrorBody = 64 << 10
	maxRedirects = 5
)

// client asks, again where that may help, and reads whole answers.
type client struct {
	http    *retryablehttp.Client
	ctx     context.Context
	timeout time.Duration
}

// answer is a response that was read as a whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// newClient makes a client whose requests end with the context. transport is asked as it is, by each attempt.
func newClient(ctx context.Context, o Options, transport http.RoundTripper,
	redirect func(*http.Request, []*http.Request) error) *client {
	c := &client{ctx: ctx, timeout: o.Timeout}
	lo := minRetryWait
	if o.retryAfter > 0 {
		lo = o.retryAfter
	}
	c.http = &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: transport, CheckRedirect: redirect, Timeout: o.Timeout},
		RetryMax:     retries,
		RetryWaitMin: lo,
		RetryWaitMax: maxRetryWait,
		Backoff:      backoff,
		CheckRetry: func(ctx context.Context, resp *http.Response, err error) (bool, error) {
			again, stop := mayRetry(ctx, resp, err)
			if again {
				o.Log.LogAttrs(ctx, slog.LevelDebug, "checkpoint store: may be tried again", because(resp, err))
			}
			return again, stop
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		// The library's own logger would show queries, and so signatures.
		RequestLogHook: func(_ retryablehttp.Logger, r *http.Request, attempt int) {
			o.Log.LogAttrs(ctx, slog.LevelDebug, "checkpoint store: request", slog.String("method", r.Method),
				slog.String("url", shown(r.URL)), slog.String("range", r.Header.Get("Range")), slog.Int("attempt", attempt))
		},
	}
	if t, ok := transport.(interface{ CloseIdleConnections() }); ok {
		context.AfterFunc(ctx, t.CloseIdleConnections)
	}
	return c
}

func because(resp *http.Response, err error) slog.Attr {
	if err != nil {
		return slog.String("error", bare(err).Error())
	}
	return slog.Int("status", resp.StatusCode)
}

// final is an error that another attempt would only meet again.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

func mayRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if _, ok := errors.AsType[final](err); ok {
		return false, nil
	}
	if err == nil && resp.StatusCode == http.StatusRequestTimeout {
		return true, nil
	}
	return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
}

// backoff is what the server asks for, up to the longest wait, or doubles. Ranks that failed together do not come
// again together.
func backoff(lo, hi time.Duration, attempt int, resp *http.Response) time.Duration {
	wait := retryablehttp.DefaultBackoff(lo, hi, attempt, resp)
	if wait < 0 || wait > hi { // Retry-After may be anything
		wait = hi
	}
	return wait + rand.N(wait/4+1)
}

// do sends a request, whose context is the client's or comes from it, and reads the answer with read, or, when the last attempt failed too, its beginning.
func (c *client) do(ctx context.Context, method string, u *url.URL, header http.Header, body []byte,
	read func(*http.Response) ([]byte, error)) (*answer, error) {
	var content any
	if body != nil {
		content = body
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, bare(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "gangrun")
	var a *answer
	req.SetResponseHandler(func(resp *http.Response) error {
		defer func() { _ = resp.Body.Close() }()
		data, err := read(resp)
		a = &answer{resp.StatusCode, resp.Header, data}
		return err
	})
	resp, err := c.http.Do(req)
	if err != nil {
		if resp != nil {
			_ = resp.Body.Close()
		}
		return nil, c.describe(err)
	}
	if a == nil { // out of attempts
		defer func() { _ = resp.Body.Close() }()
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		a = &answer{resp.StatusCode, resp.Header, data}
	}
	return a, nil
}

// whole reads an answer of at most limit bytes, and only the beginning of one that reports an error.
func whole(limit int64) func(*http.Response) ([]byte, error) {
	return func(resp *http.Response) ([]byte, error) {
		if resp.StatusCode != http.StatusOK {
			data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
			return data, nil
		}
		data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = final{fmt.Errorf("the answer is longer than %d bytes", limit)}
		}
		return data, err
	}
}

// bare is an error without the URL that net/http puts before it, with its query.
func bare(err error) error {
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = u.Err
	}
}

// describe says what to check when there was no answer.
func (c *client) describe(err error) error {
	err = bare(err)
	if errors.Is(err, fs.ErrNotExist) {
		// A file of this machine is missing, such as a token. That says nothing about the store.
		err = errors.New(err.Error())
	}
	hint := ""
	var (
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		dead net.Error
	)
	switch {
	case c.ctx.Err() != nil, errors.Is(err, context.Canceled):
	case errors.As(err, &dns):
		hint = "check the name of the host"
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = "check that the server is up and that this is its port"
	case errors.As(err, &cert):
		hint = "if its certificate comes from an authority of your own, name that file in SSL_CERT_FILE"
	case errors.As(err, &dead) && dead.Timeout():
		hint = fmt.Sprintf("no whole answer in %v: check the network and the proxy (HTTPS_PROXY, NO_PROXY)", c.timeout)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		hint = "the connection was cut in the middle of the answer"
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, hint)
}

// isPage reports whether an answer is a web page: what a proxy or a login puts in the place of data.
func (a *answer) isPage() bool {
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		return true
	}
	head := bytes.ToLower(bytes.TrimLeft(a.body[:min(len(a.body), 512)], "\ufeff \t\r\n"))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

var errPage = errors.New("the answer is a web page: check the URL, and whether a proxy or a login page is in between")

// statusText is "403 Forbidden", for example.
func (a *answer) statusText() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
}

// stay keeps a signed request where it was sent.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// follow follows redirects, but never out of TLS.
func follow(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return final{fmt.Errorf("it is redirected more than %d times", maxRedirects)}
	}
	if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
		return final{fmt.Errorf("it is redirected from https to %s", r.URL.Scheme)}
	}
	return nil
}
