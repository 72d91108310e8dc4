package objectstore

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

func TestBucketIsAFileSystem(t *testing.T) {
	f := newFakeS3(t, map[string]string{
		"b/run/a.txt": "hello", "b/run/empty": "", "b/run/dir/sub/x": strings.Repeat("x", 1000),
		"b/run/with space+plus%40&<>\"'=ü\x01.pt": "odd", "b/run/placeholder/": "", "b/other": "not below", "b/running": "neither",
		"b/run/": "",
	})
	fsys := f.fs(t, "s3://b/run")
	if err := fstest.TestFS(fsys, "a.txt", "empty", "dir/sub/x", "with space+plus%40&<>\"'=ü\x01.pt"); err != nil {
		t.Fatal(err)
	}
	root, err := fs.ReadDir(fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(root), 5; got != want {
		t.Errorf("%d entries, %d expected: %v", got, want, root)
	}
	if d, err := fs.ReadDir(fsys, "placeholder"); err != nil || len(d) != 0 {
		t.Errorf("the placeholder: %v, %v, an empty directory expected", d, err)
	}
	info, err := fs.Stat(fsys, "a.txt")
	if err != nil || info.Size() != 5 || !info.ModTime().Equal(fakeTime) || info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
}

func TestStatCostsNoRequest(t *testing.T) {
	objects := map[string]string{}
	for i := range 1024 {
		objects[fmt.Sprintf("b/ck/part%02d/shard-%04d", i%100, i)] = "x"
	}
	f := newFakeS3(t, objects)
	fsys := f.fs(t, "s3://b/ck/")
	found := 0
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found++
			_, err = fs.Stat(fsys, path)
		}
		return err
	})
	if err != nil || found != 1024 {
		t.Errorf("%d files, %v", found, err)
	}
	if _, err := fs.Stat(fsys, "part01/none/deeper"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, not found expected", err)
	}
	if got := f.count(); got != 2 {
		t.Errorf("%d requests for 1,024 files in 100 directories, 2 expected:\n%s", got, strings.Join(f.requests, "\n"))
	}
}

func TestLargeSiblingsAreNotListed(t *testing.T) {
	objects := map[string]string{}
	for c := range 20 {
		for i := range 1100 {
			objects[fmt.Sprintf("b/ck/checkpoint-%d/shard-%04d", 100+c, i)] = "x"
		}
	}
	f := newFakeS3(t, objects)
	fsys := f.fs(t, "s3://b/ck/")
	root, err := fs.ReadDir(fsys, ".")
	if err != nil || len(root) != 20 {
		t.Fatalf("%d entries, %v", len(root), err)
	}
	if got := f.count(); got != 2 {
		t.Errorf("%d requests for the names, 2 expected", got)
	}
	if d, err := fs.ReadDir(fsys, "checkpoint-119"); err != nil || len(d) != 1100 {
		t.Errorf("%d entries, %v", len(d), err)
	}
	if got := f.count(); got != 4 {
		t.Errorf("%d requests with one checkpoint, 4 expected", got)
	}
	if _, err := fs.Stat(fsys, "checkpoint-100/shard-1099"); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(fsys, "checkpoint-7/shard-1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if got := f.count(); got != 6 {
		t.Errorf("%d requests in all, 6 expected", got)
	}
}

func TestManyPages(t *testing.T) {
	for _, c := range []struct {
		name     string
		key      func(i int) string
		requests int
	}{
		{"one directory", func(i int) string { return fmt.Sprintf("b/p/f%05d", i) }, 12},
		{"60 directories", func(i int) string { return fmt.Sprintf("b/p/d%02d/f%05d", i%60, i) }, flatPages + 1 + 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := map[string]string{}
			for i := range 12_000 {
				objects[c.key(i)] = ""
			}
			f := newFakeS3(t, objects)
			found := 0
			err := fs.WalkDir(f.fs(t, "s3://b/p"), ".", func(_ string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					found++
				}
				return err
			})
			if err != nil || found != 12_000 {
				t.Errorf("%d files, %v", found, err)
			}
			if got := f.count(); got != c.requests {
				t.Errorf("%d requests, %d expected", got, c.requests)
			}
		})
	}
}

func TestOddKeys(t *testing.T) {
	for name, delimited := range map[string]bool{"whole": false, "names only": true} {
		t.Run(name, func(t *testing.T) {
			objects := map[string]string{
				"b/p/a//b": "1", "b/p//c": "1", "b/p/../x": "1", "b/p/./y": "1", "b/p/bad\xff": "1", "b/p/both": "file",
				"b/p/both/in": "1", "b/p/good/f": "1", "b/p/trail//": "",
			}
			if delimited {
				for i := range 2000 {
					objects[fmt.Sprintf("b/p/0/%04d", i)] = ""
				}
			}
			f := newFakeS3(t, objects)
			fsys := f.fs(t, "s3://b/p")
			entries, err := fs.ReadDir(fsys, ".")
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range entries {
				if !e.IsDir() {
					t.Errorf("%s is a file", e.Name())
				}
				if e.Name() != "0" {
					names = append(names, e.Name())
				}
			}
			if want := []string{"a", "both", "good", "trail"}; !slices.Equal(names, want) {
				t.Errorf("%q, %q expected", names, want)
			}
			if d, err := fs.ReadDir(fsys, "a"); err != nil || len(d) != 0 {
				t.Errorf("a has %v, %v", d, err)
			}
		})
	}
}

// A prefix without objects does not exist, as an empty name on a disk does not.
func TestNothingThere(t *testing.T) {
	f := newFakeS3(t, map[string]string{"b/other/x": "1"})
	fsys := f.fs(t, "s3://b/run")
	for _, name := range []string{".", "x", "x/y"} {
		if _, err := fs.ReadDir(fsys, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, not found expected", name, err)
		}
	}
	if got := f.count(); got != 1 {
		t.Errorf("%d requests", got)
	}
	if _, err := fs.Stat(fsys, "."); err == nil || !strings.Contains(err.Error(), "nothing is below s3://b/run/") {
		t.Error(err)
	}
}

func TestAnotherRegion(t *testing.T) {
	for name, move := range map[string]func(w http.ResponseWriter){
		"301": func(w http.ResponseWriter) {
			w.Header().Set("X-Amz-Bucket-Region", "eu-test-1")
			fail(w, 301, "PermanentRedirect", "")
		},
		"400": func(w http.ResponseWriter) {
			w.WriteHeader(400)
			_, _ = w.Write([]byte("<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-test-1</Region></Error>"))
		},
	} {
		f := newFakeS3(t, map[string]string{"b/run/x": "1"})
		f.first = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.Header.Get("Authorization"), "/eu-test-1/") {
				return false
			}
			move(w)
			return true
		}
		fsys := openTest(t, t.Context(), "s3://b/run", f.env("AWS_REGION", "us-east-1"))
		if data, err := fs.ReadFile(fsys, "x"); err != nil || string(data) != "1" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if got := f.count(); got != 3 {
			t.Errorf("%s: %d requests, 3 expected", name, got)
		}
		f.first = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("X-Amz-Bucket-Region", "mars-1")
			fail(w, 301, "PermanentRedirect", "")
			return true
		}
		_, err := fs.ReadDir(f.fs(t, "s3://b/run"), ".")
		checkUnknown(t, err)
		if !strings.Contains(err.Error(), "in the region mars-1: set AWS_REGION") {
			t.Error(err)
		}
	}
}

// A region becomes a part of the host that keys are sent to.
func TestRightRegion(t *testing.T) {
	for region, want := range map[string]string{"eu-west-1": "eu-west-1", "evil.com/": "", "a@b": "", "EU": "", "": "",
		strings.Repeat("a", 41): ""} {
		h := http.Header{"X-Amz-Bucket-Region": {region}}
		if got := rightRegion(&answer{status: 301, header: h}); got != want {
			t.Errorf("%q becomes %q", region, got)
		}
		if got := rightRegion(&answer{status: 200, header: h}); got != "" {
			t.Errorf("a good answer says %q", got)
		}
	}
}

func TestOneListingForManyWhoWait(t *testing.T) {
	f := newFakeS3(t, map[string]string{"b/run/x": "1"})
	fsys := f.fs(t, "s3://b/run")
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			if _, err := fs.Stat(fsys, "x"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := f.count(); got != 1 {
		t.Errorf("%d requests, 1 expected", got)
	}
}

func TestBackoff(t *testing.T) {
	asks := func(after string) *http.Response {
		return &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {after}}}
	}
	for _, c := range []struct {
		attempt int
		resp    *http.Response
		want    time.Duration
	}{
		{0, nil, minRetryWait}, {3, nil, 8 * minRetryWait}, {60, nil, maxRetryWait},
		{0, asks("7"), 7 * time.Second}, {0, asks("86400"), maxRetryWait}, {0, asks("9223372036854775807"), maxRetryWait},
		{1, asks("soon"), 2 * minRetryWait},
	} {
		if got := backoff(minRetryWait, maxRetryWait, c.attempt, c.resp); got < c.want || got > c.want*5/4+1 {
			t.Errorf("attempt %d: %v, %v and at most a quarter more expected", c.attempt, got, c.want)
		}
	}
}

func TestWhereABucketIs(t *testing.T) {
	for _, c := range []struct{ bucket, endpoint, region, want string }{
		{"my-bucket", "", "eu-west-1", "https://my-bucket.s3.eu-west-1.amazonaws.com"},
		{"my.bucket", "", "eu-west-1", "https://s3.eu-west-1.amazonaws.com/my.bucket"},
		{"my-bucket", "", "cn-north-1", "https://my-bucket.s3.cn-north-1.amazonaws.com.cn"},
		{"my-bucket", "http://minio:9000/", "x", "http://minio:9000/my-bucket"},
		{"my-bucket", "https://h/s3", "x", "https://h/s3/my-bucket"},
		{"", "https://h/my-bucket/", "", "https://h/my-bucket"},
	} {
		s := &bucket{name: c.bucket}
		if c.endpoint != "" {
			s.endpoint, _ = url.Parse(c.endpoint)
		}
		root := s.root(c.region)
		if got := root.String(); got != c.want {
			t.Errorf("%v: %s", c, got)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		url, want string
		env       []string
	}{
		{"s3://", "name of a bucket", nil},
		{"s3:///x", "name of a bucket", nil},
		{"s3://id:hunter2@b/x", "name of a bucket", nil},
		{"s3://b/../x", "no path can have", nil},
		{"s3://b/a//x", "no path can have", nil},
		{"s3://b/" + strings.Repeat("k", 2000), "2000 bytes", nil},
		{"gs://b/x", "AWS_ENDPOINT_URL_S3=https://storage.googleapis.com", nil},
		{"https://u:hunter2@%zz/x", "malformed", nil},
		{"https:///x", "malformed", nil},
		{"ftp://h/x", `scheme "ftp" is unknown`, nil},
		{"/a/path", "is unknown", nil},
		{"s3://b/x", "without the other", []string{"AWS_ACCESS_KEY_ID", "x"}},
		{"s3://b/x", "AWS_REGION", []string{"AWS_REGION", "evil.com/"}},
		{"s3://b/x", "malformed", []string{"AWS_ENDPOINT_URL", "https://u:hunter2@h"}},
		{"s3://b/x", "malformed", []string{"AWS_ENDPOINT_URL", "h:9000"}},
	} {
		env := map[string]string{}
		for i := 0; i < len(c.env); i += 2 {
			env[c.env[i]] = c.env[i+1]
		}
		_, err := Open(t.Context(), c.url, Options{Getenv: func(s string) string { return env[s] }})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, %q expected", c.url, err, c.want)
			continue
		}
		checkNoSecret(t, err.Error())
	}
}
