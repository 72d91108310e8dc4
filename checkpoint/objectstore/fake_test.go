package objectstore

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The keys of AWS's own examples.
const (
	exampleID     = "AKIAIOSFODNN7EXAMPLE"
	exampleSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// fakeS3 is a server that speaks as much S3 as is asked of it, and checks every signature.
type fakeS3 struct {
	*httptest.Server
	region   string
	token    string
	open     bool // to requests without a signature
	noRanges bool
	noTags   bool
	// first is asked before anything else, and reports whether it has answered. n counts the requests from 1.
	first func(n int, w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	keys     []string // sorted, with the bucket
	objects  map[string]string
	requests []string
}

var fakeTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newFakeS3(t testing.TB, objects map[string]string) *fakeS3 {
	f := &fakeS3{region: "eu-test-1", objects: objects}
	for key := range objects {
		f.keys = append(f.keys, key)
	}
	slices.Sort(f.keys)
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// env is what a user would set.
func (f *fakeS3) env(more ...string) func(string) string {
	values := map[string]string{
		"AWS_ENDPOINT_URL_S3": f.URL, "AWS_REGION": f.region,
		"AWS_ACCESS_KEY_ID": exampleID, "AWS_SECRET_ACCESS_KEY": exampleSecret, "AWS_SESSION_TOKEN": f.token,
	}
	for i := 0; i < len(more); i += 2 {
		values[more[i]] = more[i+1]
	}
	return func(name string) string { return values[name] }
}

func (f *fakeS3) fs(t testing.TB, url string) fs.FS { return openTest(t, t.Context(), url, f.env()) }

func openTest(t testing.TB, ctx context.Context, url string, env func(string) string) fs.FS {
	t.Helper()
	fsys, err := Open(ctx, url, Options{Getenv: env, retryAfter: time.Millisecond, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

// testLog fails the test when a secret comes into the log.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(noSecrets{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type noSecrets struct{ t testing.TB }

func (n noSecrets) Write(p []byte) (int, error) {
	checkNoSecret(n.t, string(p))
	return len(p), nil
}

func checkNoSecret(t testing.TB, s string) {
	t.Helper()
	for _, secret := range []string{exampleID, exampleSecret, "Signature", "Credential", "hunter2", "session-token"} {
		if strings.Contains(s, secret) && !strings.Contains(s, "SignatureDoesNotMatch") {
			t.Errorf("there is %s in %q", secret, s)
		}
	}
}

func (f *fakeS3) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

func (f *fakeS3) put(key, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[key] = body
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>%s</Message>"+
		"<StringToSign>AWS4-HMAC Signature hunter2</StringToSign></Error>", code, message)
}

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.RequestURI+" "+r.Header.Get("Range"))
	n := len(f.requests)
	f.mu.Unlock()
	if f.first != nil && f.first(n, w, r) {
		return
	}
	if r.Header.Get("Authorization") != "" || !f.open {
		if err := checkSignature(r, exampleID, exampleSecret, f.token, f.region, time.Now()); err != nil {
			fail(w, http.StatusForbidden, "SignatureDoesNotMatch", html.EscapeString(err.Error()))
			return
		}
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if r.URL.Query().Get("list-type") == "2" {
		f.list(w, r, strings.TrimSuffix(path, "/"))
		return
	}
	f.mu.Lock()
	body, found := f.objects[path]
	f.mu.Unlock()
	if !found {
		fail(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
		return
	}
	if f.noRanges {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write([]byte(body))
		return
	}
	if !f.noTags {
		w.Header().Set("ETag", tagOf(body))
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
}

func tagOf(body string) string { return fmt.Sprintf("\"%x\"", md5.Sum([]byte(body))) }

// list answers ListObjectsV2. A continuation token is the key that comes next.
func (f *fakeS3) list(w http.ResponseWriter, r *http.Request, bucket string) {
	q := r.URL.Query()
	f.mu.Lock()
	defer f.mu.Unlock()
	prefix := bucket + "/" + q.Get("prefix")
	i, _ := slices.BinarySearch(f.keys, max(prefix, bucket+"/"+q.Get("continuation-token")))
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>` + bucket + `</Name>`)
	next := ""
	last := ""
	for count := 0; i < len(f.keys) && strings.HasPrefix(f.keys[i], prefix); i++ {
		key := f.keys[i]
		rest := key[len(prefix):]
		if cut := strings.Index(rest, "/"); q.Get("delimiter") == "/" && cut >= 0 {
			if common := key[:len(prefix)+cut+1]; common != last {
				if count == 1000 {
					next = key
					break
				}
				last = common
				count++
				fmt.Fprintf(&b, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", url.QueryEscape(common[len(bucket)+1:]))
			}
			continue
		}
		if count == 1000 {
			next = key
			break
		}
		count++
		body := f.objects[key]
		tag := "<ETag>" + html.EscapeString(tagOf(body)) + "</ETag>"
		if f.noTags {
			tag = ""
		}
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><LastModified>%s</LastModified>%s<Size>%d</Size>"+
			"<StorageClass>STANDARD</StorageClass></Contents>", url.QueryEscape(key[len(bucket)+1:]),
			fakeTime.Format("2006-01-02T15:04:05.000Z"), tag, len(body))
	}
	if next != "" {
		fmt.Fprintf(&b, "<IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken>",
			html.EscapeString(next[len(bucket)+1:]))
	} else {
		b.WriteString("<IsTruncated>false</IsTruncated>")
	}
	b.WriteString("<EncodingType>url</EncodingType></ListBucketResult>")
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write([]byte(b.String()))
}

// checkSignature follows docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html step by step, without the
// library that signs.
func checkSignature(r *http.Request, id, secret, token, region string, now time.Time) error {
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return fmt.Errorf("no signature")
	}
	fields := make(map[string]string)
	for part := range strings.SplitSeq(rest, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[k] = v
	}
	at := r.Header.Get("X-Amz-Date")
	when, err := time.Parse("20060102T150405Z", at)
	if err != nil || when.Sub(now).Abs() > 15*time.Minute {
		return fmt.Errorf("it was signed at %q", at)
	}
	scope := at[:8] + "/" + region + "/s3/aws4_request"
	if fields["Credential"] != id+"/"+scope {
		return fmt.Errorf("another key or scope, %s expected", scope)
	}
	if r.Header.Get("X-Amz-Security-Token") != token {
		return fmt.Errorf("another session token")
	}
	signed := strings.Split(fields["SignedHeaders"], ";")
	if !slices.Contains(signed, "host") || !slices.IsSorted(signed) {
		return fmt.Errorf("signed headers are %q", signed)
	}
	var headers strings.Builder
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-") && !slices.Contains(signed, strings.ToLower(name)) {
			return fmt.Errorf("%s is not signed", name)
		}
	}
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.TrimSpace(value))
	}
	var query []string
	for name, values := range r.URL.Query() {
		for _, value := range values {
			query = append(query, uriEncode(name, true)+"="+uriEncode(value, true))
		}
	}
	slices.Sort(query)
	canonical := strings.Join([]string{r.Method, uriEncode(cmp.Or(r.URL.Path, "/"), false), strings.Join(query, "&"),
		headers.String(), fields["SignedHeaders"], r.Header.Get("X-Amz-Content-Sha256")}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", at, scope, hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range []string{at[:8], region, "s3", "aws4_request", toSign} {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	if want := hex.EncodeToString(key); fields["Signature"] != want {
		return fmt.Errorf("the signature is %s, %s expected", fields["Signature"], want)
	}
	return nil
}

func uriEncode(s string, slashToo bool) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", rune(c)) ||
			c == '/' && !slashToo {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
