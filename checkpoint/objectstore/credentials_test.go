package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func envOf(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

// Where keys come from, and which come first.
func TestFindKeys(t *testing.T) {
	credentials := write(t, "credentials", `
# comment
[default]
aws_access_key_id = d-id
aws_secret_access_key = d-secret
[team a]
aws_access_key_id=a-id
aws_secret_access_key=a=secret/+==
aws_session_token = a-token ; comment
s3 =
  max_concurrent_requests = 20
`)
	config := write(t, "config", `
[default]
region = us-west-2
[profile team a]
region = eu-north-1
endpoint_url = https://store.example
[profile sso]
sso_session = x
[profile role]
role_arn = arn:x
web_identity_token_file = /nowhere/token
[profile half]
aws_access_key_id = x
[team a]
region = not-this-one
`)
	files := []string{"AWS_SHARED_CREDENTIALS_FILE", credentials, "AWS_CONFIG_FILE", config}
	for _, c := range []struct {
		name             string
		env              []string
		id, secret, from string
		err              string
	}{
		{name: "variables", env: []string{"AWS_ACCESS_KEY_ID", "v", "AWS_SECRET_ACCESS_KEY", "s", "AWS_PROFILE", "team a"},
			id: "v", secret: "s", from: "AWS_ACCESS_KEY_ID"},
		{name: "default profile", id: "d-id", secret: "d-secret", from: "profile default"},
		{name: "profile", env: []string{"AWS_PROFILE", "team a"}, id: "a-id", secret: "a=secret/+==", from: "profile team a"},
		{name: "no such profile", env: []string{"AWS_PROFILE", "none"}, err: `AWS_PROFILE is "none"`},
		{name: "single sign-on", env: []string{"AWS_PROFILE", "sso"}, err: "sso_session, which is not supported"},
		{name: "half", env: []string{"AWS_PROFILE", "half"}, err: "without the other"},
		{name: "token of a profile", env: []string{"AWS_PROFILE", "role"}, from: "AWS_WEB_IDENTITY_TOKEN_FILE"},
		{name: "token", env: []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "/x", "AWS_ROLE_ARN", "r"}, from: "AWS_WEB_IDENTITY_TOKEN_FILE"},
		{name: "token without role", env: []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "/x"}, err: "without AWS_ROLE_ARN"},
		{name: "container", env: []string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x", "AWS_SHARED_CREDENTIALS_FILE", "/none"},
			from: "the container's service at http://169.254.170.2/v2/x"},
		{name: "far container", env: []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://far.example/x",
			"AWS_SHARED_CREDENTIALS_FILE", "/none"}, err: "Amazon's container services expected"},
		{name: "none", env: []string{"AWS_SHARED_CREDENTIALS_FILE", "/none"}, from: "AWS_ACCESS_KEY_ID, AWS_WEB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			getenv := envOf(append(files[:len(files):len(files)], c.env...)...)
			p, err := readProfile(getenv)
			var k keys
			if err == nil {
				k, err = findKeys(t.Context(), Options{Getenv: getenv, Timeout: time.Second}, p, "us-east-1")
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, %q expected", err, c.err)
				}
				return
			}
			if err != nil || !strings.HasPrefix(k.from, c.from) {
				t.Fatalf("from %q, %v, %q expected", k.from, err, c.from)
			}
			if c.id != "" {
				got, err := k.provider.Retrieve(t.Context())
				if err != nil || got.AccessKeyID != c.id || got.SecretAccessKey != c.secret {
					t.Errorf("%v, %v", got, err)
				}
			}
			if (k.provider == nil) != (c.name == "none") {
				t.Errorf("provider %v", k.provider)
			}
		})
	}
	p, err := readProfile(envOf(append(files, "AWS_PROFILE", "team a")...))
	if err != nil || p.values["region"] != "eu-north-1" || p.values["aws_session_token"] != "a-token" || p.values["s3"] != "" {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := readProfile(envOf("HOME", t.TempDir())); err != nil || len(p.values) != 0 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestMalformedProfiles(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"[default", "line 1 begins a section"},
		{"[a]\nhunter2", "line 2 is not one of"},
		{"[a]\n" + strings.Repeat("k", 70<<10), "too long"},
	} {
		path := write(t, "credentials", c.content)
		_, err := Open(t.Context(), "s3://b/x", Options{Getenv: envOf("AWS_SHARED_CREDENTIALS_FILE", path)})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, %q expected", err, c.want)
			continue
		}
		checkNoSecret(t, err.Error())
	}
	_, err := Open(t.Context(), "s3://b/x", Options{Getenv: envOf("AWS_SHARED_CREDENTIALS_FILE", t.TempDir())})
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory: %v", err)
	}
}

func FuzzProfiles(f *testing.F) {
	f.Add("[default]\nregion = x\n[profile a]\ns3 =\n  x = y\n# c\n")
	f.Fuzz(func(t *testing.T, s string) {
		sections, err := parseSections(strings.NewReader(s))
		if err != nil {
			return
		}
		for _, values := range sections {
			for k, v := range values {
				if k != strings.ToLower(k) || strings.ContainsAny(k+v, "\n") || strings.TrimSpace(v) != v {
					t.Errorf("%q = %q", k, v)
				}
			}
		}
	})
}

// A container's service is asked with the token of the moment, and again before what it gave expires.
func TestContainerKeys(t *testing.T) {
	var asked atomic.Int64
	expires := time.Now().Add(time.Hour)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != fmt.Sprintf("token%d", asked.Add(1)) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, `{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":"session-token","Expiration":%q}`,
			exampleID, exampleSecret, expires.Format(time.RFC3339))
	}))
	t.Cleanup(s.Close)
	token := write(t, "token", "token1\n")
	f := newFakeS3(t, map[string]string{"b/run/x": "1", "b/run/y": "2"})
	f.token = "session-token"
	env := f.env("AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", "", "AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL+"/get",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token)
	fsys := openTest(t, t.Context(), "s3://b/run", env)
	for _, name := range []string{"x", "y"} {
		if _, err := fs.ReadFile(fsys, name); err != nil {
			t.Fatal(err)
		}
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("asked %d times, 1 expected", got)
	}

	expires = time.Now().Add(4 * time.Minute)
	asked.Store(0)
	fsys = openTest(t, t.Context(), "s3://b/run", env)
	if _, err := fs.Stat(fsys, "x"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(token, []byte("token2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(fsys, "x"); err != nil {
		t.Fatal(err)
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("asked %d times, 2 expected", got)
	}

	// What fails is the keys, and not the checkpoint.
	_, err := fs.ReadFile(fsys, "y")
	checkUnknown(t, err)
	for _, want := range []string{"keys from the container's service at " + s.URL + "/get", "401 Unauthorized"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q expected in: %v", want, err)
		}
	}
}

// A token that is missing on this machine must not read as a checkpoint that is missing.
func TestMissingTokenIsNotAbsence(t *testing.T) {
	f := newFakeS3(t, map[string]string{"b/run/x": "1"})
	_, err := fs.ReadDir(openTest(t, t.Context(), "s3://b/run", f.env("AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", "",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token", "AWS_ROLE_ARN", "arn:x")), ".")
	checkUnknown(t, err)
	if !strings.Contains(err.Error(), "/nowhere/token") || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if got := f.count(); got != 0 {
		t.Errorf("%d requests without keys", got)
	}
}

func TestWebIdentity(t *testing.T) {
	refuse := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse {
			w.WriteHeader(400)
			_, _ = w.Write([]byte("<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>No</Message></Error></ErrorResponse>"))
			return
		}
		for name, want := range map[string]string{"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15",
			"RoleArn": "arn:x", "RoleSessionName": "gangrun", "WebIdentityToken": "hunter2"} {
			if got := r.PostFormValue(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
			<AssumeRoleWithWebIdentityResult><Credentials><SessionToken>session-token</SessionToken>
			<SecretAccessKey>%s</SecretAccessKey><Expiration>%s</Expiration><AccessKeyId>%s</AccessKeyId></Credentials>
			</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, exampleSecret,
			time.Now().Add(time.Hour).Format(time.RFC3339), exampleID)
	}))
	t.Cleanup(s.Close)
	f := newFakeS3(t, map[string]string{"b/run/x": "1"})
	f.token = "session-token"
	env := f.env("AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", "", "AWS_WEB_IDENTITY_TOKEN_FILE",
		write(t, "token", "hunter2"), "AWS_ROLE_ARN", "arn:x", "AWS_ENDPOINT_URL_STS", s.URL)
	if data, err := fs.ReadFile(openTest(t, t.Context(), "s3://b/run", env), "x"); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
	refuse = true
	_, err := fs.ReadFile(openTest(t, t.Context(), "s3://b/run", env), "x")
	checkUnknown(t, err)
	if !strings.Contains(err.Error(), "400 Bad Request (InvalidIdentityToken: No) for the role arn:x") {
		t.Error(err)
	}
}

func TestBadAnswersForKeys(t *testing.T) {
	for _, body := range []string{"", "{}", `{"AccessKeyId":"hunter2"}`, `{"AccessKeyId":["hunter2"]}`, "<html>hunter2"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		t.Cleanup(s.Close)
		k, err := container(t.Context(), Options{Getenv: noEnv, Timeout: time.Minute, Log: testLog(t)}, s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = k.provider.Retrieve(context.Background()); err == nil {
			t.Errorf("%s: no error", body)
			continue
		}
		checkNoSecret(t, err.Error())
		if k, err := parseSTS([]byte(body)); err == nil && k.HasKeys() {
			t.Errorf("%s: %v", body, k)
		}
	}
}

// FuzzKeys reads what servers answer that hand out keys. What they say is in no error.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(`{"AccessKeyId":"hunter2","SecretAccessKey":"hunter2","Token":"hunter2","Expiration":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte("<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>hunter2</AccessKeyId>" +
		"<Expiration>2026-01-02T03:04:05Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, one := parseContainer(body)
		_, other := parseSTS(body)
		for _, err := range []error{one, other} {
			if err != nil && !strings.HasSuffix(err.Error(), "that is expected") {
				t.Error(err)
			}
		}
	})
}
