package ras

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const whole = `{"nccl_version":"2.28.9","communicators":[{"hash":"0x1","size":4,"ranks":[
{"rank":0,"host":"a","pid":50,"status":{"async_error":"No error"},"collective_counts":{"AllReduce":30,"Broadcast":1}},
{"rank":1,"host":"a","pid":51,"status":{"async_error":"No error"},"collective_counts":{"AllReduce":29,"Broadcast":1}}],
"missing_ranks":[{"rank":2,"host":"b \"x\" }{","pid":50,"status":{"unresponsive":true,"considered_dead":false}},
{"rank":3,"host":"b","pid":51,"status":{"unresponsive":false,"considered_dead":true}}]}]}`

// TestParse reads an answer as it should be, and as NCCL 2.28.9 writes it: without a comma.
func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"whole":             whole,
		"between ranks":     strings.Replace(whole, "}},\n{\"rank\":3", "}}\n{\"rank\":3", 1),
		"between keys":      strings.Replace(whole, `"pid":50,"status":{"unres`, `"pid":50 "status":{"unres`, 1),
		"before a key":      strings.Replace(whole, `"pid":50,"status":{"unres`, `"pid":50"status":{"unres`, 1),
		"after a string":    strings.Replace(whole, `"host":"a","pid":51`, `"host":"a" "pid":51`, 1),
		"after a word":      strings.Replace(whole, `true,"considered`, "true\n\"considered", 1),
		"before an element": strings.Replace(whole, "}],\n\"missing", "}]\n\"missing", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if name != "whole" && json.Valid([]byte(text)) {
				t.Fatal("nothing is missing")
			}
			list, err := Parse([]byte(text))
			if err != nil || len(list) != 1 || list[0].Size != 4 {
				t.Fatalf("%+v, %v", list, err)
			}
			c := list[0]
			if len(c.Ranks) != 2 || c.Ranks[1].Collectives() != 30 || c.Ranks[0].Collectives() != 31 {
				t.Errorf("%+v", c.Ranks)
			}
			if len(c.Missing) != 2 || !c.Missing[0].Status.Unresponsive || !c.Missing[1].Status.Dead {
				t.Errorf("%+v", c.Missing)
			}
		})
	}
	for _, text := range []string{"", "x", "[", `{"communicators":3}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// server is a fake RAS. How often it was asked for the status is counted.
func server(t *testing.T, answer func(line string) (string, bool)) (address string, asked *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked = &atomic.Int32{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					text, more := answer(lines.Text())
					if lines.Text() == "STATUS" {
						asked.Add(1)
					}
					io.WriteString(conn, text)
					if !more {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), asked
}

func TestAsk(t *testing.T) {
	deadline := func() time.Time { return time.Now().Add(10 * time.Second) }
	good := func(line string) (string, bool) {
		switch {
		case line == "CLIENT PROTOCOL 2":
			return "SERVER PROTOCOL 2\n", true
		case line == "STATUS":
			return whole, false
		}
		return "OK\n", true
	}
	address, asked := server(t, good)
	if a, err := Ask(address, deadline()); err != nil || len(a.Communicators) != 1 || string(a.Text) != whole || asked.Load() != 1 {
		t.Errorf("%+v, %v, asked %d times", a, err, asked.Load())
	}
	// Before 2.28 there is text only.
	address, _ = server(t, func(line string) (string, bool) {
		if strings.HasPrefix(line, "SET") {
			return "ERROR: unknown command\n", true
		} else if line == "STATUS" {
			return "NCCL version 2.24\nCommunicators... 4 ranks\n", false
		}
		return good(line)
	})
	if a, err := Ask(address, deadline()); err != nil || a.Communicators != nil || !strings.HasPrefix(string(a.Text), "NCCL version") {
		t.Errorf("%+v, %v", a, err)
	}
	address, _ = server(t, func(string) (string, bool) { return "HTTP/1.1 400 Bad Request\n", true })
	if _, err := Ask(address, deadline()); err == nil || !strings.Contains(err.Error(), "not NCCL's") {
		t.Error(err)
	}
	// One that accepts and then says nothing, or too much, or never ends, holds nobody up.
	for name, answer := range map[string]func(string) (string, bool){
		"stuck":      func(string) (string, bool) { return "", true },
		"stuck late": func(line string) (string, bool) { s, _ := good(line); return strings.TrimSuffix(s, "}"), true },
	} {
		address, _ = server(t, answer)
		if _, err := Ask(address, time.Now().Add(100*time.Millisecond)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	address, _ = server(t, func(line string) (string, bool) {
		if line == "STATUS" {
			return strings.Repeat("x", 2*mostAnswer), false
		}
		return good(line)
	})
	if a, _ := Ask(address, deadline()); len(a.Text) > mostAnswer {
		t.Errorf("%d bytes", len(a.Text))
	}
	if _, err := Ask("127.0.0.1:1", deadline()); err == nil {
		t.Error("nobody listens there")
	}
}

// FuzzParse: what is JSON is read as it is, and nothing breaks what repairs it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"a":1 "b":[1 2 "x" {} {}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if json.Valid(text) && string(repair(text)) != string(text) {
			t.Errorf("%q became %q", text, repair(text))
		}
		_, _ = Parse(text)
	})
}
