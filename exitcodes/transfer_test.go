package exitcodes

import (
	"strings"
	"testing"
)

// TestTransferFailed has a program copy many files: it continues with the others where one of them fails, and that is final all the same.
func TestTransferFailed(t *testing.T) {
	const (
		unreached = "download failed: s3://b/G_4.pth to ./G_4.pth Could not connect to the endpoint URL: \"https://b.s3.amazonaws.com/G_4.pth\"\n"
		others    = "Completed 1.1 GiB/2.1 GiB (241.8 MiB/s) with 1 file(s) remaining\ndownload: s3://b/D_4.pth to ./D_4.pth\n"
	)
	for name, tt := range map[string]struct {
		code    int
		output  string
		verdict Verdict
		says    string
	}{
		"aws: other files":     {1, unreached + others, Retry, "endpoint URL"},
		"aws: what called it":  {1, unreached + others + "[entrypoint] aws exited 1\n[entrypoint] refusing to start from scratch while a checkpoint exists\n", Retry, "endpoint URL"},
		"aws: a key":           {1, "download failed: s3://b/G_4.pth to ./G_4.pth An error occurred (403) when calling the HeadObject operation: Forbidden\n" + others, Fatal, "Forbidden"},
		"aws: two of them":     {1, unreached + "download failed: s3://b/E_4.pth to ./E_4.pth [Errno 2] No such file or directory: './E_4.pth'\n" + others, Fatal, "No such file"},
		"aws: an error after":  {1, unreached + others + "config has no key model.hidden, cannot build the model\n", Fatal, "model.hidden"},
		"s5cmd":                {1, "ERROR \"cp s3://b/a.tar a.tar\": RequestError: send request failed caused by: Get \"https://b/a.tar\": read tcp 10.0.0.1:5->10.0.0.2:443: read: connection reset by peer\ncp s3://b/c.tar c.tar\n", Retry, "connection reset"},
		"rclone":               {1, "2026/01/01 10:00:00 ERROR : a.tar: Failed to copy: failed to open source object: 503 Service Unavailable\n2026/01/01 10:00:03 INFO  : c.tar: Copied (new)\nTransferred: 1 / 2, 50%\n", Retry, "503"},
		"what git says":        {128, "Cloning into 'a'...\nfatal: unable to access 'https://h/a.git/': Could not resolve host: h\nwarning: Skipping file /out/. File does not exist.\n", Retry, "Could not resolve host"},
		"a warning after that": {1, "curl: (6) Could not resolve host: h\nwarning: nothing is left in /out\n", Retry, "Could not resolve host"},
	} {
		if f := Judge(exited(tt.code).printing("Model has 124000000 parameters\n"+tt.output), BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
