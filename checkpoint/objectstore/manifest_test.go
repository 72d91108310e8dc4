package objectstore

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
)

// site serves a manifest, and files, some of them presigned ones.
func site(t *testing.T, manifest string) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/ck/m.json", func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); ok && (user != "me" || password != "hunter2") {
			w.WriteHeader(401)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(manifest, "HOST", r.Host)))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/signed/") && r.URL.Query().Get("X-Amz-Signature") != "hunter2" {
			fail(w, 403, "AccessDenied", "Request has expired")
			return
		}
		http.ServeContent(w, r, "", fakeTime, strings.NewReader("content of "+r.URL.Path))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

const exampleManifest = `{"version": 1, "files": [
	{"path": "step-1/a b?.pt", "size": 29, "modified": "2026-01-02T03:04:05Z"},
	{"path": "step-1/c:d", "size": 25},
	{"path": "x:y", "size": 18},
	{"path": "s", "size": 20, "url": "http://HOST/signed/x?X-Amz-Signature=hunter2", "more": [1, {"a": null}]},
	{"path": "late", "size": 20, "url": "/signed/x?X-Amz-Signature=old&Credential=c"},
	{"path": "gone", "size": 5, "url": "../../none"}
], "generator": {"name": "x"}}`

func TestManifest(t *testing.T) {
	s := site(t, exampleManifest)
	fsys := openTest(t, t.Context(), s.URL+"/ck/m.json?X-Amz-Signature=hunter2#frag", noEnv)
	for name, want := range map[string]string{
		"step-1/a b?.pt": "content of /ck/step-1/a b?.pt", "step-1/c:d": "content of /ck/step-1/c:d",
		"x:y": "content of /ck/x:y", "s": "content of /signed/x",
	} {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != int64(len(want)) {
			// The sizes of the example are those of the contents.
			t.Fatalf("%s: %d bytes, the site has %d", name, info.Size(), len(want))
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if info, err := fs.Stat(fsys, "step-1/a b?.pt"); err != nil || !info.ModTime().Equal(fakeTime) {
		t.Errorf("%v, %v", info, err)
	}
	_, err := fs.ReadFile(fsys, "late")
	checkUnknown(t, err)
	if !strings.Contains(err.Error(), "403 Forbidden (AccessDenied: Request has expired)") ||
		!strings.Contains(err.Error(), "has not expired") {
		t.Error(err)
	}
	for _, name := range []string{"none", "step-1/none", "s/x"} {
		if _, err := fs.Stat(fsys, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fs.ReadFile(fsys, "gone"); !errors.Is(err, ErrChanged) { // it is longer than the manifest says
		t.Error(err)
	}
}

func noEnv(string) string { return "" }

func TestManifestIsAFileSystem(t *testing.T) {
	s := site(t, `{"files":[{"path":"a/b/c","size":20},{"path":"a/d","size":18}]}`)
	fsys := openTest(t, t.Context(), s.URL+"/ck/m.json", noEnv)
	if err := fstest.TestFS(fsys, "a/b/c", "a/d"); err != nil {
		t.Error(err)
	}
}

func TestManifestWithPassword(t *testing.T) {
	s := site(t, `{"files":[{"path":"a","size":16}]}`)
	for password, want := range map[string]bool{"hunter2": true, "hunter22": false} {
		u, _ := url.Parse(s.URL + "/ck/m.json")
		u.User = url.UserPassword("me", password)
		_, err := fs.Stat(openTest(t, t.Context(), u.String(), noEnv), "a")
		if want && err != nil {
			t.Error(err)
		} else if !want {
			checkUnknown(t, err)
		}
	}
}

func TestManifestStatus(t *testing.T) {
	for _, c := range []struct {
		answer func(w http.ResponseWriter)
		absent bool
		want   string
	}{
		{func(w http.ResponseWriter) { w.WriteHeader(404) }, true, "manifest http://"},
		{func(w http.ResponseWriter) { w.WriteHeader(403) }, false, "403 Forbidden"},
		{func(w http.ResponseWriter) { w.WriteHeader(502) }, false, "after 6 attempts"},
		{func(w http.ResponseWriter) { w.WriteHeader(204) }, false, "204 No Content"},
		{func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html><a href=x>")) }, false, "web page"},
		{func(w http.ResponseWriter) { w.Header().Set("Location", "/"); w.WriteHeader(302) }, false, "more than 5 times"},
		{func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"files":[`)) }, false, "not a manifest in JSON"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.answer(w) }))
		t.Cleanup(s.Close)
		_, err := fs.ReadDir(openTest(t, t.Context(), s.URL+"/m.json?token=hunter2", noEnv), ".")
		if err == nil || errors.Is(err, fs.ErrNotExist) != c.absent || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %q expected", err, c.want)
			continue
		}
		checkNoSecret(t, err.Error())
	}
}

func TestRedirectsStayInTLS(t *testing.T) {
	from := &http.Request{URL: &url.URL{Scheme: "https", Host: "a"}}
	if err := follow(&http.Request{URL: &url.URL{Scheme: "http", Host: "a"}}, []*http.Request{from}); err == nil {
		t.Error("https is left")
	}
	if err := follow(&http.Request{URL: &url.URL{Scheme: "https", Host: "b"}}, []*http.Request{from}); err != nil {
		t.Error(err)
	}
}

func TestMalformedManifests(t *testing.T) {
	file := `{"path":"a","size":1}`
	for _, c := range []struct{ manifest, want string }{
		{``, "not a manifest in JSON"},
		{`[]`, "[ found where { is expected"},
		{`{}`, `no "files"`},
		{`{"files":null}`, "where [ is expected"},
		{`{"files":[]`, "unexpected EOF"},
		{`{"files":[]} {}`, "something follows"},
		{`{"files":[],"files":[]}`, "twice"},
		{`{"files":[` + file + `,` + file + `]}`, "files[1]: a is there twice"},
		{`{"files":[{"path":"a"}]}`, "a has no size"},
		{`{"files":[{"path":"a","size":-1}]}`, "size -1"},
		{`{"files":[{"path":"a","size":1.5}]}`, "files[0]: not a manifest"},
		{`{"files":[{"size":1}]}`, "not one below"},
		{`{"files":[{"path":"/a","size":1}]}`, "not one below"},
		{`{"files":[{"path":"a/../../b","size":1}]}`, "not one below"},
		{`{"files":[{"path":".","size":1}]}`, "not one below"},
		{`{"files":[{"path":"` + strings.Repeat("p", 2000) + `","size":1}]}`, "not one below"},
		{`{"files":[` + file + `,{"path":"a/b/c","size":1}]}`, "both a file and a directory"},
		{`{"files":[{"path":"a/b/c","size":1},{"path":"a/b","size":1}]}`, "both a file and a directory"},
		{`{"files":[{"path":"a","size":1,"url":"file:///etc/passwd"}]}`, `scheme "file"`},
		{`{"files":[{"path":"a","size":1,"url":"%zz?hunter2"}]}`, "url of a is malformed"},
		{`{"files":[{"path":"a","size":1,"modified":"yesterday"}]}`, "yesterday"},
	} {
		_, err := parseManifest(strings.NewReader(c.manifest), &url.URL{Scheme: "https", Host: "h", Path: "/ck/m.json"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, %q expected", c.manifest, err, c.want)
			continue
		}
		checkNoSecret(t, err.Error())
	}
}

func TestManyFilesInAManifest(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"files":[{"path":"a","size":1}`)
	for i := range maxEntries {
		fmt.Fprintf(&b, `,{"path":"%x","size":1}`, i+1<<20)
	}
	b.WriteString(`]}`)
	_, err := parseManifest(strings.NewReader(b.String()), &url.URL{Scheme: "https", Host: "h"})
	if err == nil || !strings.Contains(err.Error(), "more than 262144 files") {
		t.Error(err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(exampleManifest)
	f.Add(`{"files":[{"path":"a/b/c","size":1},{"path":"a/b","size":1}]}`)
	base := &url.URL{Scheme: "https", Host: "h", Path: "/ck/m.json"}
	f.Fuzz(func(t *testing.T, s string) {
		tree, err := parseManifest(strings.NewReader(s), base)
		if err == nil {
			checkTree(t, tree)
		}
	})
}

// checkTree checks what holds for every tree: each directory but the base is in the one above it, and every name is one.
func checkTree(t *testing.T, tree *tree) {
	t.Helper()
	files := 0
	for dir, listing := range tree.listings {
		if !fs.ValidPath(dir) {
			t.Errorf("the directory %q", dir)
		}
		for name := range listing.files {
			files++
			if !isName(name) {
				t.Errorf("the file %q in %q", name, dir)
			}
		}
		for name := range listing.dirs {
			if tree.deep && tree.listings[strings.TrimPrefix(dir+"/"+name, "./")] == nil {
				t.Errorf("the directory %q in %q has no listing", name, dir)
			}
		}
	}
	if files+len(tree.listings)-1 != tree.entries && tree.deep {
		t.Errorf("%d files and %d directories, %d counted", files, len(tree.listings)-1, tree.entries)
	}
}
