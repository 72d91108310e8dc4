package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// diagnose asks every endpoint for what etcd's client does not tell: whether somebody is there, and what is wrong with
// the certificates. There is no cause if all endpoints seem to be well. It is a matter of TLS only if no endpoint is:
// the others can come back. Otherwise is what the client says: the words of those that answer.
func (a access) diagnose(ctx context.Context, otherwise string) (cause string, kind error) {
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	found := make([]error, len(a.endpoints))
	var all sync.WaitGroup
	for i, e := range a.endpoints {
		all.Go(crash.Guard(func() { found[i] = a.probe(ctx, e) }))
	}
	all.Wait()
	kind = store.ErrUnreachable
	var texts, well []string
	for i, err := range found {
		var failed tlsError
		if errors.As(err, &failed) {
			kind = store.ErrTLS
		}
		if err != nil {
			texts = append(texts, a.endpoints[i]+": "+oneLine(err))
		} else {
			well = append(well, a.endpoints[i])
		}
	}
	if len(texts) > 0 && len(well) > 0 {
		kind = store.ErrUnreachable
		text := strings.Join(well, ", ") + ": there, and cannot help (" + otherwise + ")"
		if 2*len(texts) >= len(found) {
			text += ": a cluster needs more than half of its members"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; "), kind
}

// tlsError is an error of the TLS handshake.
type tlsError struct{ error }

func (e tlsError) Unwrap() error { return e.error }

var errDeaf = errors.New("connects, but does not answer")

// greeting is how an HTTP/2 client begins, with settings that ask for nothing: RFC 9113, section 3.4.
const greeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// alert is the first byte of what a TLS server says to one who does not speak TLS: RFC 8446, section 5.1.
const alert = 21

// probe connects to an endpoint and waits for the first byte that it says.
func (a access) probe(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if a.tls != nil {
		conf := a.tls.Clone()
		conf.ServerName = u.Hostname()
		conf.NextProtos = []string{"h2"}
		secure := tls.Client(conn, conf)
		if err := secure.Handshake(); err != nil {
			return tlsFailure(err)
		}
		conn = secure
	}
	_, _ = conn.Write([]byte(greeting)) // if it fails, reading does too
	first := make([]byte, 1)
	switch _, err := conn.Read(first); {
	case a.tls == nil && !timeout(err) && (err != nil || first[0] == alert) && speaksTLS(ctx, u.Host):
		return tlsError{errors.New("it wants TLS: use https://")}
	case err == nil:
		return nil
	case a.tls != nil: // a server that does not like our certificate says so only now
		return tlsFailure(err)
	case timeout(err):
		return errDeaf
	default:
		return fmt.Errorf("connects, and closes: %w", err)
	}
}

// speaksTLS says whether there is a TLS server, whoever it is: nothing is sent to it.
func speaksTLS(ctx context.Context, host string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	err = tls.Client(conn, &tls.Config{ServerName: "gangrun.invalid", MinVersion: tls.VersionTLS12}).Handshake()
	var known *tls.CertificateVerificationError
	return errors.As(err, &known) // it has shown a certificate; that it is not this name's is no wonder
}

func tlsFailure(err error) error {
	if timeout(err) {
		return errDeaf
	}
	return tlsError{err}
}

func timeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
