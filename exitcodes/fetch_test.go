package exitcodes

import "testing"

// TestFetchFailed has Node.js say why a request failed, and throw something else after one that it got over.
func TestFetchFailed(t *testing.T) {
	const (
		failed = "TypeError: fetch failed\n    at node:internal/deps/undici/undici:12345:11\n"
		thrown = "/app/index.js:10\n        throw new Error('bad config')\nError: bad config\n    at main (/app/index.js:10:9)\n"
	)
	wantVerdicts(t, map[string]printed{
		"a reset":                     {failed + "  [cause]: Error: read ECONNRESET\n      at TLSWrap.onStreamRead\n", Retry},
		"a timeout":                   {failed + "  [cause]: ConnectTimeoutError: Connect Timeout Error (timeout: 10000ms)\n", Retry},
		"a certificate":               {failed + "  [cause]: Error: self-signed certificate in certificate chain\n    code: 'SELF_SIGNED_CERT_IN_CHAIN'\n", Fatal},
		"a URL":                       {failed + "  [cause]: TypeError: Invalid URL\n", Fatal},
		"metrics, and then its fault": {"console.error metrics push failed Error: connect ECONNREFUSED 127.0.0.1:9091\n" + thrown, Fatal},
		"metrics, and plain words":    {"metrics push failed Error: connect ECONNREFUSED 127.0.0.1:9091\nbad config\n", Fatal},
		"a reset, and then its fault": {"Error: read ECONNRESET\n    at TLSWrap.onStreamRead\nTypeError: Cannot read properties of undefined (reading 'x')\n    at main\n", Fatal},
	})
}
