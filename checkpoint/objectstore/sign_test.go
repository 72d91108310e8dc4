package objectstore

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// The two requests without a body of docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
func TestSignatureOfAWSExamples(t *testing.T) {
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ url, ranged, signature string }{
		{"https://examplebucket.s3.amazonaws.com/test.txt", "bytes=0-9",
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", "",
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		r, err := http.NewRequest(http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.ranged != "" {
			r.Header.Set("Range", c.ranged)
		}
		k := aws.Credentials{AccessKeyID: exampleID, SecretAccessKey: exampleSecret}
		if err := sign(r, k, "us-east-1", at); err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.signature) {
			t.Errorf("%s: %s\nwant the signature %s", c.url, got, c.signature)
		}
		r.Host = r.URL.Host
		if err := checkSignature(r, exampleID, exampleSecret, "", "us-east-1", at); err != nil {
			t.Errorf("the server of these tests: %v", err)
		}
		r.Header.Set("X-Amz-Date", "20130524T000001Z")
		if checkSignature(r, exampleID, exampleSecret, "", "us-east-1", at) == nil {
			t.Error("the server of these tests takes what was not signed")
		}
	}
}
