package objectstore

import (
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// noBody is the SHA-256 of nothing.
const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// keys are what to sign with.
type keys struct {
	provider aws.CredentialsProvider // nil is anonymous
	from     string                  // where they come from, or were looked for
}

// signing signs each attempt again, since a signature is good for minutes and retries may take as long.
type signing struct {
	*http.Transport
	keys keys
}

func (s *signing) RoundTrip(r *http.Request) (*http.Response, error) {
	region, _ := r.Context().Value(regionKey{}).(string)
	if s.keys.provider == nil {
		return s.Transport.RoundTrip(r)
	}
	k, err := s.keys.provider.Retrieve(r.Context())
	if err != nil {
		return nil, final{fmt.Errorf("keys from %s: %w", s.keys.from, err)}
	}
	r = r.Clone(r.Context())
	if err := sign(r, k, region, time.Now()); err != nil {
		return nil, final{err}
	}
	return s.Transport.RoundTrip(r)
}

// sign signs a request without a body by AWS Signature Version 4. The path is signed as it is sent, a rule of S3 alone.
func sign(r *http.Request, k aws.Credentials, region string, now time.Time) error {
	r.Header.Set("X-Amz-Content-Sha256", noBody)
	return v4.NewSigner().SignHTTP(r.Context(), k, r, noBody, "s3", region, now, func(o *v4.SignerOptions) {
		o.DisableURIPathEscaping = true
	})
}
