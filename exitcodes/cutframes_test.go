package exitcodes

import (
	"strings"
	"testing"
)

// TestCutFrames has an output end in a traceback whose exception is not named: its last frame tells, or nothing does.
func TestCutFrames(t *testing.T) {
	const (
		head  = "Traceback (most recent call last):\n  File \"/app/train.py\", line 77, in <module>\n    main()\n"
		send  = "  File \"/v/requests/adapters.py\", line 501, in send\n"
		call  = "    resp = conn.urlopen(\n"
		pool  = "  File \"/v/urllib3/connectionpool.py\", line 710, in urlopen\n    response = self._make_request(\n"
		key   = "KeyError: 'https://hub/x'\n\n" + chainedContext + ":\n\n"
		cause = "KeyError: 'lr'\n\n" + chainedCause + ":\n\n"
		reset = "ConnectionResetError: [Errno 104] Connection reset by peer\n\n" + chainedContext + ":\n\n"
		own   = "  File \"/app/data.py\", line 5, in read\n"
	)
	for name, tt := range map[string]struct {
		printed string
		verdict Verdict
		says    string
	}{
		"a request":                    {head + send + call, Retry, "in send"},
		"and the source lost":          {head + send, Retry, "in send"},
		"on Windows":                   {head + `  File "D:\v\urllib3\connectionpool.py", line 710, in urlopen` + "\n", Retry, "in urlopen"},
		"after a look into a cache":    {head + key + head + pool, Retry, "in urlopen"},
		"after what is named":          {head + reset + head + pool, Retry, "reset by peer"},
		"after what was said":          {"wandb: ERROR Run initialization has timed out after 90.0 sec.\n" + head + key + head + own, Retry, "timed out"},
		"raised":                       {head + own + "    raise ConnectionError(f\"Couldn't reach {url}\")\n", Retry, "raise ConnectionError"},
		"raised, without a word":       {head + own + "    raise ReadTimeout\n", Retry, "raise ReadTimeout"},
		"raised again":                 {head + send + "    raise err\n", Retry, "in send"},
		"of its own":                   {head + own + "    raise ValueError(f\"no such split: {split}\")\n", Fatal, ""},
		"an answer":                    {head + "  File \"/v/requests/models.py\", line 1021, in raise_for_status\n    raise HTTPError(http_error_msg, response=self)\n", Fatal, ""},
		"an answer, its source lost":   {head + "  File \"/v/requests/models.py\", line 1021, in raise_for_status\n", Fatal, ""},
		"a certificate":                {head + "  File \"/usr/lib/python3.11/ssl.py\", line 1342, in do_handshake\n    self._sslobj.do_handshake()\n", Fatal, ""},
		"both ends lost":               {"  File \"/app/a.py\", line 3, in a\n    b()\n" + send + call, Retry, "in send"},
		"both, its margin, too":        {"File \"/app/a.py\", line 3, in a\n    b()\n" + send + call, Retry, "in send"},
		"a stack that is no traceback": {"Thread 0x7f (most recent call first):\n  File \"/v/requests/adapters.py\", line 501 in send\n  File \"/v/requests/sessions.py\", line 5 in send\n", Fatal, ""},
		"a file of that name":          {head + "  File \"/app/requests.py\", line 3, in send\n    f()\n", Fatal, ""},
		"after a bug":                  {head + cause + head + own + "    f()\n", Fatal, "KeyError: 'lr'"},
	} {
		o := exited(1)
		o.Output = []byte("Loading run.yaml\n" + tt.printed)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}
