package exitcodes

import (
	"os"
	"strings"
	"testing"
)

// The three kinds of exceptions that chains are made of.
var kinds = map[string]string{
	"transient":     "ConnectionResetError: [Errno 104] Connection reset by peer",
	"deterministic": "ModuleNotFoundError: No module named 'flash_attn'",
	"unknown":       "RuntimeError: the shard cannot be read",
}

var links = map[string]string{
	"handled": "\nDuring handling of the above exception, another exception occurred:\n\n",
	"cause":   "\nThe above exception was the direct cause of the following exception:\n\n",
}

// printedChain is what Python prints about "deterministic handled unknown cause transient".
func printedChain(t *testing.T, words string) string {
	t.Helper()
	var b strings.Builder
	for i, w := range strings.Fields(words) {
		text, found := kinds[w]
		if i%2 == 1 {
			text, found = links[w]
		} else {
			b.WriteString("Traceback (most recent call last):\n  File \"/app/train.py\", line 210, in <module>\n    main()\n")
			text += "\n"
		}
		if !found {
			t.Fatalf("%q in %q", w, words)
		}
		b.WriteString(text)
	}
	return b.String()
}

// docs/verdicts.md has a table of chains; the last exception of each ended the program.
func TestChainsOfTheDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/verdicts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| exceptions, the last one ended the program |")
	rows := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || strings.Contains(row, "---") {
			if rows > 0 {
				break
			}
			continue
		}
		words, verdict, evidence := strings.TrimSpace(cells[1]), Verdict(strings.TrimSpace(cells[2])), strings.TrimSpace(cells[3])
		rows++
		o := exited(1)
		o.Output = []byte(printedChain(t, words))
		f := Judge(o, BuiltinRules())
		if f.Verdict != verdict || f.Evidence != kinds[evidence] {
			t.Errorf("%s: %s by %q, the table says %s by %s", words, f.Verdict, f.Evidence, verdict, evidence)
		}
	}
	if rows < 20 {
		t.Errorf("only %d chains", rows)
	}
}

// Every chain of two to four exceptions, in every order, with both links.
func TestEveryChain(t *testing.T) {
	var grow func(words []string, n int)
	chains := 0
	grow = func(words []string, n int) {
		if n == 0 {
			chains++
			o := exited(1)
			o.Output = []byte(printedChain(t, strings.Join(words, " ")))
			f := Judge(o, BuiltinRules())
			if want := verdictOf(words); f.Verdict != want {
				t.Errorf("%v: %s, want %s", words, f.Verdict, want)
			}
			return
		}
		for _, link := range []string{"handled", "cause"} {
			for kind := range kinds {
				grow(append(words[:len(words):len(words)], link, kind), n-1)
			}
		}
	}
	for kind := range kinds {
		for n := 1; n <= 3; n++ {
			grow([]string{kind}, n)
		}
	}
	if chains != 3*(6+36+216) {
		t.Errorf("%d chains", chains)
	}
}

// verdictOf is the rule in one sentence: from the last exception back, the first that is known decides, a deterministic
// one only where nothing but causes lie between it and the end.
func verdictOf(words []string) Verdict {
	caused := true
	for i := len(words) - 1; i >= 0; i -= 2 {
		switch {
		case words[i] == "transient":
			return Retry
		case words[i] == "deterministic" && caused:
			return Fatal
		}
		if i > 0 && words[i-1] == "handled" {
			caused = false
		}
	}
	return Fatal // unknown
}

func TestGroups(t *testing.T) {
	group := func(members ...string) string {
		var b strings.Builder
		b.WriteString("  + Exception Group Traceback (most recent call last):\n  |   File \"/app/train.py\", line 9, in <module>\n  |     asyncio.run(main())\n" +
			"  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n")
		for i, m := range members {
			edge := "  +-+----------------"
			if i > 0 {
				edge = "    +----------------"
			}
			b.WriteString(edge + " 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"/app/train.py\", line 5, in fetch\n    |     read()\n    | " + m + "\n")
		}
		return b.String() + "    +------------------------------------\n"
	}
	for name, tt := range map[string]struct {
		members  []string
		verdict  Verdict
		evidence string
	}{
		"transient":               {[]string{kinds["transient"], kinds["transient"]}, Retry, kinds["transient"]},
		"deterministic":           {[]string{kinds["deterministic"], kinds["unknown"]}, Fatal, kinds["deterministic"]},
		"both":                    {[]string{kinds["deterministic"], kinds["transient"]}, Retry, kinds["transient"]},
		"transient, then unknown": {[]string{kinds["transient"], kinds["unknown"]}, Retry, kinds["transient"]},
		"a chain, then the program's": {[]string{"KeyError: 'conn'\n    | \n    | The above exception was the direct cause of the following exception:\n    | \n" +
			"    | Traceback (most recent call last):\n    |   File \"/app/train.py\", line 6, in fetch\n    |     raise\n    | " +
			"ConnectionResetError: [Errno 104] Connection reset by peer", "ValueError: bad frame length"}, Retry, "ConnectionResetError"},
	} {
		o := exited(1)
		o.Output = []byte(group(tt.members...))
		f := Judge(o, BuiltinRules())
		if f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.evidence) {
			t.Errorf("%s: %s by %q", name, f.Verdict, f.Evidence)
		}
	}
}

// TestStatusOfStreams has calls of gRPC end by what happened to their stream, and by what the server says of them.
func TestStatusOfStreams(t *testing.T) {
	call := func(status, details string) string {
		return "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\n" +
			"grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode." + status + "\n\tdetails = \"" + details + "\"\n>\n"
	}
	wantVerdicts(t, map[string]printed{
		"reset":       {call("INTERNAL", "Received RST_STREAM with error code 2"), Retry},
		"removed":     {call("UNKNOWN", "Stream removed"), Retry},
		"no lease":    {call("NOT_FOUND", "etcdserver: requested lease not found"), Retry},
		"internal":    {call("INTERNAL", "Exception deserializing request!"), Fatal},
		"no such":     {call("NOT_FOUND", "no such job"), Fatal},
		"no role":     {call("PERMISSION_DENIED", "etcdserver: permission denied"), Fatal},
		"no method":   {call("UNIMPLEMENTED", "Method not found!"), Fatal},
		"an argument": {call("INVALID_ARGUMENT", "etcdserver: key is not provided"), Fatal},
	})
}
