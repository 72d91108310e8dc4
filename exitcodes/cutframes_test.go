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
		"a handshake":                  {head + "  File \"/usr/lib/python3.11/ssl.py\", line 1342, in do_handshake\n    self._sslobj.do_handshake()\n", Retry, "do_handshake"},
		"its name cut off":             {head + send + call + "requests.exceptions.Conn", Retry, "in send"},
		"a name that is short":         {head + own + "    q.get()\nqueue.Empty\n", Fatal, "queue.Empty"},
		"a meeting":                    {head + "  File \"/v/torch/distributed/rendezvous.py\", line 190, in _env_rendezvous_handler\n    store = TCPStore(master_addr, master_port, world_size, start_daemon, timeout)\n", Retry, "_env_rendezvous_handler"},
		"both ends lost":               {"  File \"/app/a.py\", line 3, in a\n    b()\n" + send + call, Retry, "in send"},
		"both, its margin, too":        {"File \"/app/a.py\", line 3, in a\n    b()\n" + send + call, Retry, "in send"},
		"a stack that is no traceback": {"Thread 0x7f (most recent call first):\n  File \"/v/requests/adapters.py\", line 501 in send\n  File \"/v/requests/sessions.py\", line 5 in send\n", Fatal, ""},
		"through others":               {head + send + "  File \"/usr/lib/python3.11/contextlib.py\", line 155, in __exit__\n    self.gen.throw(typ, value, traceback)\n  File \"<string>\", line 3, in raise_from\n", Retry, "in send"},
		"a place cut off":              {head + send + call + "  File \"/v/requests/sess", Retry, "in send"},
		"of a record":                  {"2026-01-01 10:00:00,230\tERROR runner.py:521 -- Task failed: Socket closed\n2026-01-01 10:00:00,231\tERROR runner.py:522 -- Trial 1: cannot process it.\n" + head + own, Retry, "Socket closed"},
		"an import":                    {head + "  File \"/v/urllib3/__init__.py\", line 42, in <module>\n    from .connectionpool import HTTPConnectionPool\n", Fatal, ""},
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
