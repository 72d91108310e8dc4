package objectstore

import (
	"context"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// What is not a plain "not found" must never read as one.
func TestUnknownIsNotAbsent(t *testing.T) {
	page := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><html><body>Please log in"))
	}
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		want   []string // in the message
		asked  int
	}{
		{"403", func(w http.ResponseWriter) { fail(w, 403, "AccessDenied", "Access Denied") },
			[]string{"403 Forbidden (AccessDenied: Access Denied)", "s3:ListBucket", "AWS_ACCESS_KEY_ID", "s3://b/run/"}, 1},
		{"401", func(w http.ResponseWriter) { w.WriteHeader(401) }, []string{"401 Unauthorized", "s3:ListBucket"}, 1},
		{"wrong key", func(w http.ResponseWriter) { fail(w, 403, "SignatureDoesNotMatch", "no") },
			[]string{"check the keys from AWS_ACCESS_KEY_ID"}, 1},
		{"clock", func(w http.ResponseWriter) { fail(w, 403, "RequestTimeTooSkewed", "") }, []string{"clock"}, 1},
		{"expired", func(w http.ResponseWriter) { fail(w, 400, "ExpiredToken", "") }, []string{"no longer good"}, 1},
		{"no bucket", func(w http.ResponseWriter) { fail(w, 404, "NoSuchBucket", "") }, []string{"name of the bucket"}, 1},
		{"no S3", func(w http.ResponseWriter) { w.WriteHeader(404) }, []string{"404 Not Found", "endpoint of an S3 store"}, 1},
		{"503", func(w http.ResponseWriter) { fail(w, 503, "SlowDown", "Please reduce your request rate.") },
			[]string{"503", "SlowDown: Please reduce", "after 6 attempts"}, 6},
		{"429", func(w http.ResponseWriter) { w.WriteHeader(429) }, []string{"429", "overloaded"}, 6},
		{"500", func(w http.ResponseWriter) { w.WriteHeader(500) }, []string{"500"}, 6},
		{"407", func(w http.ResponseWriter) { w.WriteHeader(407) }, []string{"proxy wants a password"}, 1},
		{"redirect", func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://login.example/?q=hunter2")
			w.WriteHeader(302)
		},
			[]string{"302 Found", "redirected to login.example"}, 1},
		{"web page", page, []string{"web page", "proxy"}, 1},
		{"web page with an error", func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); w.WriteHeader(403) },
			[]string{"with a web page"}, 1},
		{"torn XML", func(w http.ResponseWriter) { _, _ = w.Write([]byte("<ListBucketResult><Contents><Key>")) },
			[]string{"not a whole listing"}, 1},
		{"other XML", func(w http.ResponseWriter) { _, _ = w.Write([]byte("<Other></Other>")) },
			[]string{"but have <Other>", "<ListBucketResult>"}, 1},
		{"foreign key", func(w http.ResponseWriter) {
			_, _ = w.Write([]byte("<ListBucketResult><Contents><Key>etc/x</Key><Size>1</Size></Contents></ListBucketResult>"))
		}, []string{`"etc/x"`, `"run/" expected`}, 1},
		{"no token", func(w http.ResponseWriter) {
			_, _ = w.Write([]byte("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"))
		}, []string{"more follows"}, 1},
		{"cut", func(w http.ResponseWriter) { w.Header().Set("Content-Length", "100"); _, _ = w.Write([]byte("<List")) },
			[]string{"cut in the middle"}, 6},
		{"too long", func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, maxPageBytes+1)) },
			[]string{"longer than 16777216 bytes"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeS3(t, nil)
			f.first = func(_ int, w http.ResponseWriter, _ *http.Request) bool { c.answer(w); return true }
			_, err := fs.ReadDir(f.fs(t, "s3://b/run"), ".")
			checkUnknown(t, err)
			for _, want := range c.want {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%q expected in: %v", want, err)
				}
			}
			if got := f.count(); got != c.asked {
				t.Errorf("%d requests, %d expected", got, c.asked)
			}
		})
	}
}

func checkUnknown(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if p := problem.Of(err, problem.NoMarker); !p.Reason.Unknown() {
		t.Errorf("%v counts as %s", err, p.Reason)
	}
	checkNoSecret(t, err.Error())
	if strings.ContainsAny(err.Error(), "?\n") {
		t.Errorf("a query, or more than one line, in %q", err)
	}
}

func TestNobodyThere(t *testing.T) {
	f := newFakeS3(t, nil)
	f.Close()
	_, err := fs.ReadDir(f.fs(t, "s3://b/run"), ".")
	checkUnknown(t, err)
	if err == nil || !strings.Contains(err.Error(), "check that the server is up") {
		t.Errorf("%v", err)
	}
}

func TestAnonymous(t *testing.T) {
	f := newFakeS3(t, map[string]string{"b/run/x": "1"})
	env := func(name string) string { return map[string]string{"AWS_ENDPOINT_URL": f.URL}[name] }
	_, err := fs.ReadDir(openTest(t, t.Context(), "s3://b/run", env), ".")
	checkUnknown(t, err)
	f.first = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		fail(w, 403, "AccessDenied", "")
		return true
	}
	_, err = fs.ReadDir(openTest(t, t.Context(), "s3://b/run", env), ".")
	if err == nil || !strings.Contains(err.Error(), "asked without keys, since there are none in AWS_ACCESS_KEY_ID") {
		t.Errorf("%v", err)
	}
	f.open, f.first = true, nil
	for _, url := range []string{"s3://b/run", f.URL + "/b?list-type=2&prefix=run", f.URL + "/b/?prefix=run/&list-type=2"} {
		fsys := openTest(t, t.Context(), url, env)
		if data, err := fs.ReadFile(fsys, "x"); err != nil || string(data) != "1" {
			t.Errorf("%s: %q, %v", url, data, err)
		}
	}
}

func TestBusyThenWell(t *testing.T) {
	f := newFakeS3(t, map[string]string{"b/run/x": "content"})
	f.token = "session-token"
	f.first = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		switch n {
		case 1, 4:
			fail(w, 503, "SlowDown", "")
		case 2:
			w.WriteHeader(http.StatusRequestTimeout)
		case 5: // a body that is cut
			w.Header().Set("Content-Length", "7")
			w.Header().Set("Content-Range", "bytes 0-6/7")
			w.WriteHeader(206)
			_, _ = w.Write([]byte("con"))
		case 6: // a connection that is cut
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}
	data, err := fs.ReadFile(f.fs(t, "s3://b/run"), "x")
	if err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
	if got := f.count(); got != 7 {
		t.Errorf("%d requests, 7 expected", got)
	}
}

func TestSlowBodyEndsWithTheContext(t *testing.T) {
	for name, end := range map[string]func() (context.Context, func()){
		"cancel": func() (context.Context, func()) { ctx, cancel := context.WithCancel(t.Context()); return ctx, cancel },
		"deadline": func() (context.Context, func()) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			t.Cleanup(cancel)
			return ctx, func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeS3(t, map[string]string{"b/run/x": "content"})
			ctx, slow := end()
			f.first = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 1 {
					return false
				}
				w.Header().Set("Content-Length", "7")
				w.Header().Set("Content-Range", "bytes 0-6/7")
				w.WriteHeader(206)
				_, _ = w.Write([]byte("con"))
				_ = http.NewResponseController(w).Flush()
				slow()
				<-r.Context().Done()
				return true
			}
			_, err := fs.ReadFile(openTest(t, ctx, "s3://b/run", f.env()), "x")
			if err == nil {
				t.Fatal("no error")
			}
			if p := problem.Of(err, problem.NoMarker); p.Reason != problem.CheckTimeout {
				t.Errorf("%v counts as %s", err, p.Reason)
			}
		})
	}
}

func TestOneRequestHasALimitToo(t *testing.T) {
	f := newFakeS3(t, nil)
	f.first = func(_ int, _ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	fsys, err := Open(t.Context(), "s3://b/run", Options{Getenv: f.env(), retryAfter: 1, Timeout: 1e7})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fs.ReadDir(fsys, ".")
	checkUnknown(t, err)
	if err == nil || !strings.Contains(err.Error(), "no whole answer in 10ms") {
		t.Errorf("%v", err)
	}
	// On a busy machine the time of one may be over before it arrives.
	if got := f.count(); got < 2 || got > retries+1 {
		t.Errorf("%d requests arrived, of %d", got, retries+1)
	}
}
