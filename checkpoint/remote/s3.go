package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
)

const (
	maxPages = 4096
	// flatPages and flatNames say how long to list a directory with everything below it: so many pages, as long as each
	// shows as many names of the directory itself. A checkpoint of 1,024 files in 100 directories takes 2 requests then
	// and not 101. A directory with 100 such checkpoints takes 2 and not 103: its first page shows 1 name, and the next
	// one asks for names only.
	flatPages = 10
	flatNames = 4
)

// bucket is a store that speaks the S3 protocol.
type bucket struct {
	client   *client
	name     string   // empty where the path of the endpoint has it
	prefix   string   // empty, or ends in a slash
	endpoint *url.URL // nil for that of AWS in the bucket's region
	shown    string   // the URL for messages
	keys     keys
	region   atomic.Pointer[string]
}

var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`)

// openBucket takes what follows s3://. It is no URL proper: as in AWS's own programs, nothing in a key is escaped.
func openBucket(ctx context.Context, rest string, o Options) (*bucket, error) {
	name, prefix, _ := strings.Cut(rest, "/")
	if !bucketName.MatchString(name) {
		return nil, errors.New("the URL has no name of a bucket: s3://BUCKET/PREFIX expected")
	}
	prefix, err := asPrefix(prefix)
	if err != nil {
		return nil, err
	}
	p, err := readProfile(o.Getenv)
	if err != nil {
		return nil, err
	}
	region := cmp.Or(o.Getenv("AWS_REGION"), o.Getenv("AWS_DEFAULT_REGION"), p.values["region"], "us-east-1")
	if !regionName.MatchString(region) {
		return nil, fmt.Errorf("AWS_REGION %.40q is not the name of a region", region)
	}
	s := &bucket{name: name, prefix: prefix, shown: "s3://" + name + "/" + prefix}
	s.region.Store(&region)
	at := cmp.Or(o.Getenv("AWS_ENDPOINT_URL_S3"), o.Getenv("AWS_ENDPOINT_URL"), p.values["endpoint_url"])
	if at != "" {
		u, err := url.Parse(at)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return nil, errors.New("AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL, is malformed: https://host or " +
				"http://host:port expected")
		}
		s.endpoint = u
	}
	if s.keys, err = findKeys(ctx, o, p, region); err != nil {
		return nil, err
	}
	s.client = newClient(ctx, o, &signing{newTransport(o.Timeout), s.keys}, stay)
	return s, nil
}

// openListing takes the URL of a bucket's listing. It is never signed: keys are for the endpoint that was configured
// with them.
func openListing(ctx context.Context, u *url.URL, o Options) (*bucket, error) {
	prefix, err := asPrefix(u.Query().Get("prefix"))
	if err != nil {
		return nil, err
	}
	endpoint := *u
	endpoint.RawQuery = ""
	region := ""
	s := &bucket{prefix: prefix, endpoint: &endpoint, shown: shown(&endpoint) + " below " + cmp.Or(prefix, "/")}
	s.region.Store(&region)
	s.client = newClient(ctx, o, newTransport(o.Timeout), stay)
	return s, nil
}

func asPrefix(s string) (string, error) {
	s = strings.Trim(s, "/")
	if s == "" {
		return "", nil
	}
	for name := range strings.SplitSeq(s, "/") {
		if !isName(name) {
			return "", fmt.Errorf("the prefix %.80q has %.40q in it, which no path can have", s, name)
		}
	}
	if len(s) >= maxKey {
		return "", fmt.Errorf("a prefix of %d bytes, less than %d expected", len(s), maxKey)
	}
	return s + "/", nil
}

// root is where the bucket is: its own host where there can be one, or a path below the endpoint.
func (s *bucket) root(region string) url.URL {
	if s.endpoint != nil {
		u := *s.endpoint
		u.RawPath = ""
		u.Path = strings.TrimRight(u.Path, "/")
		if s.name != "" {
			u.Path += "/" + s.name
		}
		return u
	}
	domain := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	// A certificate for *.s3... covers no name with dots, and a host no capitals.
	if strings.ContainsAny(s.name, "._") || strings.ToLower(s.name) != s.name || len(s.name) > 63 {
		return url.URL{Scheme: "https", Host: domain, Path: "/" + s.name}
	}
	return url.URL{Scheme: "https", Host: s.name + "." + domain}
}

// escape is the one form of a path that is signed: all but the unreserved characters of RFC 3986 and slashes.
func escape(path string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(path)+16)
	for _, c := range []byte(path) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

type regionKey struct{}

var regionName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// get asks for a key, or without one for the bucket itself, and once more when the bucket turns out to be in another
// region.
func (s *bucket) get(key, query string, header http.Header, read func(*http.Response) ([]byte, error)) (*url.URL,
	*answer, error) {
	for moved := false; ; moved = true {
		region := *s.region.Load()
		u := s.root(region)
		if key != "" || u.Path == "" {
			u.Path += "/" + key
		}
		u.RawPath, u.RawQuery = escape(u.Path), query
		a, err := s.client.do(context.WithValue(s.client.ctx, regionKey{}, region), http.MethodGet, &u, header, nil, read)
		if err != nil {
			return &u, nil, err
		}
		other := rightRegion(a)
		if moved || other == "" || other == region || s.keys.provider == nil && s.endpoint != nil {
			return &u, a, nil
		}
		s.region.Store(&other)
	}
}

// rightRegion is the region that an answer says the bucket is in.
func rightRegion(a *answer) string {
	switch a.status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest:
		region := a.header.Get("X-Amz-Bucket-Region")
		if region == "" {
			region = parseError(a.body).Region
		}
		if regionName.MatchString(region) { // it becomes a part of a host's name
			return region
		}
	}
	return ""
}

func (s *bucket) list(dir string) (*tree, error) {
	prefix := s.prefix
	if dir != "." {
		prefix += dir + "/"
	}
	t := newTree(dir)
	t.deep = true
	token := ""
	for n := 1; ; n++ {
		q := url.Values{"list-type": {"2"}, "encoding-type": {"url"}}
		if prefix != "" {
			q.Set("prefix", prefix)
		}
		if token != "" {
			q.Set("continuation-token", token)
		}
		if !t.deep {
			q.Set("delimiter", "/")
		}
		p, err := s.page(q)
		if err != nil {
			return nil, err
		}
		root := t.folders[dir]
		before := len(root.files) + len(root.dirs)
		if err := s.take(t, prefix, p); err != nil {
			return nil, err
		}
		if !p.truncated {
			break
		}
		if p.next == "" || p.next == token {
			return nil, fmt.Errorf("listing %s: page %d says that more follows, and not where", s.shown, n)
		}
		if n >= maxPages {
			return nil, fmt.Errorf("listing %s: more than %d pages", s.shown, maxPages)
		}
		token = p.next
		shown := len(root.files) + len(root.dirs) - before
		if t.deep && shown < len(p.objects) && (n >= flatPages || shown < flatNames) {
			t.shallow() // and again, names only
			token = ""
		}
	}
	if !t.deep {
		t.shallow()
	}
	return t, nil
}

// take adds the keys of a page.
func (s *bucket) take(t *tree, prefix string, p *page) error {
	for _, key := range p.prefixes {
		rel, ok := strings.CutPrefix(key, prefix)
		if !ok {
			return s.stranger(key, prefix)
		}
		if err := t.add(rel, nil); err != nil {
			return fmt.Errorf("listing %s: %w", s.shown, err)
		}
	}
	for i := range p.objects {
		l := &p.objects[i]
		rel, ok := strings.CutPrefix(l.key, prefix)
		if !ok {
			return s.stranger(l.key, prefix)
		}
		if err := t.add(rel, &object{size: l.size, modified: l.modified, version: l.tag}); err != nil {
			return fmt.Errorf("listing %s: %w", s.shown, err)
		}
	}
	return nil
}

func (s *bucket) stranger(key, prefix string) error {
	return fmt.Errorf("listing %s: the key %.80q came, keys below %.80q expected", s.shown, key, prefix)
}

func (s *bucket) page(query url.Values) (*page, error) {
	u, a, err := s.get("", query.Encode(), http.Header{}, whole(maxPageBytes))
	if err == nil {
		err = s.answered(a, true)
	}
	var p *page
	if err == nil {
		if p, err = parsePage(bytes.NewReader(a.body)); err != nil && a.isPage() {
			err = errPage
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s at %s: %w", s.shown, shown(u), err)
	}
	return p, nil
}

func (s *bucket) read(name string, o *object, off, n int64, version string) (*answer, error) {
	u, a, err := s.get(s.prefix+name, "", asRange(off, n, version), ranged(off, n, o.size))
	if err == nil {
		err = s.answered(a, false)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(u), err)
	}
	return a, nil
}

// answered turns a status into an error that says what to check. A bucket that does not exist is not an empty one: no
// job has made its checkpoints there, and somebody has mistyped it.
func (s *bucket) answered(a *answer, listing bool) error {
	if a.status == http.StatusOK || a.status == http.StatusPartialContent && !listing {
		return nil
	}
	e := parseError(a.body)
	if !listing && e.Code != "NoSuchBucket" || a.status == http.StatusProxyAuthRequired {
		if err := commonStatus(a); err != nil {
			return err
		}
	}
	text := a.statusText()
	if about := e.String(); about != "" {
		text += " (" + about + ")"
	} else if a.isPage() {
		text += " with a web page"
	}
	return fmt.Errorf("%s: %s", text, s.check(a, e))
}

// check is what to check.
func (s *bucket) check(a *answer, e storeError) string {
	switch e.Code {
	case "NoSuchBucket":
		return "check the name of the bucket, AWS_ENDPOINT_URL_S3 and AWS_REGION"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return "check the keys from " + s.keys.from + ", and that no proxy changes requests"
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return "the keys from " + s.keys.from + " are no longer good"
	case "RequestTimeTooSkewed":
		return "check the clock of this machine"
	case "InvalidObjectState":
		return "it is archived, and has to be restored before it can be read"
	}
	switch {
	case a.status == http.StatusForbidden || a.status == http.StatusUnauthorized:
		if s.name == "" {
			return "it is asked without keys, so anybody has to be allowed to list and to read it"
		}
		if s.keys.provider == nil {
			return "it was asked without keys, since there are none in " + s.keys.from +
				" (the roles of EC2 instances are not asked for)"
		}
		return "check that the keys from " + s.keys.from + " may list the bucket (s3:ListBucket) and read it (s3:GetObject)"
	case a.status == http.StatusNotFound:
		return "check that this is the endpoint of an S3 store, and the name of the bucket"
	case a.status >= 500 || a.status == http.StatusTooManyRequests:
		return fmt.Sprintf("the store is failing or overloaded, after %d attempts", retries+1)
	case a.status >= 300 && a.status < 400 || rightRegion(a) != "":
		if region := rightRegion(a); region != "" {
			return "the bucket is in the region " + region + ": set AWS_REGION"
		}
		to := ""
		if u, err := url.Parse(a.header.Get("Location")); err == nil && u.Host != "" {
			to = " to " + clean(u.Host, 80)
		}
		return "it is redirected" + to + ", and a signed request cannot be: check AWS_ENDPOINT_URL_S3 and AWS_REGION"
	}
	return "check the URL, AWS_ENDPOINT_URL_S3 and AWS_REGION"
}
