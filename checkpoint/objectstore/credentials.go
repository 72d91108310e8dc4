package objectstore

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const (
	maxToken = 64 << 10
	// refreshBefore is how long before they expire keys are asked for again.
	refreshBefore = 5 * time.Minute
)

// nowhere is where keys were looked for when there are none.
const nowhere = "AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE, ~/.aws and AWS_CONTAINER_CREDENTIALS_FULL_URI"

// findKeys looks for keys where AWS's own programs do, and in their order: variables, the token of a Kubernetes service
// account, the profile, the container's own service. What is fetched is fetched when it is first needed.
func findKeys(ctx context.Context, o Options, p profile, region string) (keys, error) {
	id, secret := o.Getenv("AWS_ACCESS_KEY_ID"), o.Getenv("AWS_SECRET_ACCESS_KEY")
	switch {
	case id != "" && secret != "":
		return fixed(id, secret, o.Getenv("AWS_SESSION_TOKEN"), "AWS_ACCESS_KEY_ID"), nil
	case id != "" || secret != "":
		return keys{}, errors.New("one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set without the other")
	}
	if token, role := o.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), o.Getenv("AWS_ROLE_ARN"); token != "" {
		if role == "" {
			return keys{}, errors.New("AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN")
		}
		return webIdentity(ctx, o, token, role, o.Getenv("AWS_ROLE_SESSION_NAME"), region)
	}

	id, secret = p.values["aws_access_key_id"], p.values["aws_secret_access_key"]
	from := "profile " + p.name
	switch {
	case id != "" && secret != "":
		return fixed(id, secret, p.values["aws_session_token"], from), nil
	case id != "" || secret != "":
		return keys{}, fmt.Errorf("%s has one of aws_access_key_id and aws_secret_access_key without the other", from)
	case p.values["web_identity_token_file"] != "" && p.values["role_arn"] != "":
		return webIdentity(ctx, o, p.values["web_identity_token_file"], p.values["role_arn"],
			p.values["role_session_name"], region)
	}
	for _, key := range []string{"sso_session", "sso_start_url", "role_arn", "credential_process"} {
		if p.values[key] != "" {
			return keys{}, fmt.Errorf("%s has %s, which is not supported: put the keys into the environment, as "+
				"`aws configure export-credentials --format env` prints them", from, key)
		}
	}

	relative, full := o.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), o.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative != "" {
		full = "http://169.254.170.2/" + strings.TrimPrefix(relative, "/")
	}
	if full != "" {
		return container(ctx, o, full)
	}
	return keys{from: nowhere}, nil
}

func fixed(id, secret, token, from string) keys {
	k := aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token}
	return keys{aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return k, nil }), from}
}

// fetched are keys that expire.
func fetched(from string, fetch func() (aws.Credentials, error)) keys {
	provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		k, err := fetch()
		if err == nil && (k.AccessKeyID == "" || k.SecretAccessKey == "") {
			err = errors.New("the answer has no keys in it")
		}
		k.CanExpire = !k.Expires.IsZero()
		return k, err
	})
	return keys{aws.NewCredentialsCache(provider, func(o *aws.CredentialsCacheOptions) {
		o.ExpiryWindow = refreshBefore
	}), from}
}

// containerHosts are the addresses at which Amazon's container services give keys out without TLS:
// docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html.
var containerHosts = []string{"169.254.170.2", "169.254.170.23", "fd00:ec2::23"}

func container(ctx context.Context, o Options, from string) (keys, error) {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return keys{}, errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI is malformed")
	}
	ip := net.ParseIP(u.Hostname())
	near := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(containerHosts, u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || !near) {
		return keys{}, fmt.Errorf("AWS_CONTAINER_CREDENTIALS_FULL_URI names %q: https, or an address of this machine or of "+
			"Amazon's container services expected", u.Hostname())
	}
	transport := newTransport(o.Timeout)
	if u.Scheme == "http" {
		transport.Proxy = nil // it is on this machine, or next to it
	}
	c := newClient(ctx, o, transport, stay)
	return fetched("the container's service at "+shown(u), func() (aws.Credentials, error) {
		header := http.Header{"Accept": {"application/json"}}
		token := o.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if path := o.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); path != "" {
			var err error
			if token, err = readToken(path); err != nil { // each time: it is rotated
				return aws.Credentials{}, err
			}
		}
		if strings.ContainsAny(token, "\r\n") {
			return aws.Credentials{}, errors.New("the authorization token has more than one line")
		}
		if token != "" {
			header.Set("Authorization", token)
		}
		a, err := c.do(ctx, http.MethodGet, u, header, nil, whole(maxToken))
		if err != nil {
			return aws.Credentials{}, err
		}
		if a.status != http.StatusOK {
			return aws.Credentials{}, errors.New(a.statusText())
		}
		return parseContainer(a.body)
	}), nil
}

func parseContainer(body []byte) (aws.Credentials, error) {
	var k struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      time.Time
	}
	if err := json.Unmarshal(body, &k); err != nil {
		return aws.Credentials{}, errors.New("the answer is not the JSON that is expected") // and may have keys in it
	}
	return aws.Credentials{AccessKeyID: k.AccessKeyID, SecretAccessKey: k.SecretAccessKey, SessionToken: k.Token,
		Expires: k.Expiration}, nil
}

// webIdentity changes a token, for example of a Kubernetes service account, into keys of a role.
func webIdentity(ctx context.Context, o Options, file, role, session, region string) (keys, error) {
	at := o.Getenv("AWS_ENDPOINT_URL_STS")
	if at == "" {
		at = "https://sts." + region + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			at += ".cn"
		}
	}
	u, err := url.Parse(at)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return keys{}, errors.New("AWS_ENDPOINT_URL_STS is malformed: https://host expected")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	if session == "" {
		session = "gangrun"
	}
	c := newClient(ctx, o, newTransport(o.Timeout), stay)
	return fetched("AWS_WEB_IDENTITY_TOKEN_FILE by "+shown(u), func() (aws.Credentials, error) {
		token, err := readToken(file) // each time: it is rotated
		if err != nil {
			return aws.Credentials{}, err
		}
		form := url.Values{
			"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role},
			"RoleSessionName": {session}, "WebIdentityToken": {token},
		}
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		a, err := c.do(ctx, http.MethodPost, u, header, []byte(form.Encode()), whole(maxToken))
		if err != nil {
			return aws.Credentials{}, err
		}
		if a.status != http.StatusOK {
			return aws.Credentials{}, fmt.Errorf("%s (%s) for the role %s", a.statusText(), parseError(a.body), role)
		}
		return parseSTS(a.body)
	}), nil
}

func parseSTS(body []byte) (aws.Credentials, error) {
	var r struct {
		XMLName xml.Name `xml:"AssumeRoleWithWebIdentityResponse"`
		Result  struct {
			Credentials struct {
				AccessKeyID     string `xml:"AccessKeyId"`
				SecretAccessKey string
				SessionToken    string
				Expiration      time.Time
			}
		} `xml:"AssumeRoleWithWebIdentityResult"`
	}
	if err := xml.NewDecoder(bytes.NewReader(body)).Decode(&r); err != nil {
		return aws.Credentials{}, errors.New("the answer is not the XML that is expected") // and may have keys in it
	}
	k := r.Result.Credentials
	return aws.Credentials{AccessKeyID: k.AccessKeyID, SecretAccessKey: k.SecretAccessKey, SessionToken: k.SessionToken,
		Expires: k.Expiration}, nil
}

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err == nil && len(data) > maxToken {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxToken)
	}
	return strings.TrimSpace(string(data)), err
}
