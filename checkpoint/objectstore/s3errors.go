package objectstore

import (
	"fmt"
	"net/http"
	"net/url"
)

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

// rightRegion is the region that an answer says the bucket is in.
func rightRegion(a *answer) string {
	switch a.status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest:
		region := a.header.Get("X-Amz-Bucket-Region")
		if region == "" {
			region = parseError(a.body).Region
		}
		if isRegion(region) {
			return region
		}
	}
	return ""
}
