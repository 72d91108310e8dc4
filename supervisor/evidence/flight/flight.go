// Package flight asks torch's flight recorder, in each rank, which collectives it has joined. It answers over torch's own
// worker server, which a plugin starts that import torch finds on PYTHONPATH: it answers also while the rank's Python
// stands, as the server is a thread of C++.
package flight

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Variable names the directory in which the ranks put their sockets.
const Variable = "GANGRUN_TORCH_SOCKETS"

//go:embed plugin/gangrun_torch.py
var plugin []byte

// Install puts the plugin into a directory, which is to be on PYTHONPATH.
func Install(dir string) error {
	info := filepath.Join(dir, "gangrun_torch-1.0.dist-info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		filepath.Join(dir, "gangrun_torch.py"):  string(plugin),
		filepath.Join(info, "METADATA"):         "Metadata-Version: 2.1\nName: gangrun-torch\nVersion: 1.0\n",
		filepath.Join(info, "entry_points.txt"): "[torch.backends]\ngangrun_torch = gangrun_torch:start\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Record is what a rank's recorder says.
type Record struct {
	Text   []byte // as it came
	Groups map[string]Group
}

// Group is a process group as one rank sees it; its numbers are -1 where nothing is known.
type Group struct {
	Enqueued  int64 // the number of the last collective that the rank has joined
	Completed int64
}

// World is the group of all ranks, which is the first that torch makes.
func (r Record) World() (Group, bool) {
	g, found := r.Groups["0"]
	return g, found
}

// mostAnswer bounds what is read, in bytes: a full ring of 2,000 collectives takes about one million.
const mostAnswer = 4 << 20

// Socket is where a rank listens.
type Socket struct {
	Path      string
	Rank, PID int
}

// Sockets are those in a directory; what else is there is left alone.
func Sockets(dir string) (list []Socket) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.sock"))
	for _, file := range files {
		rank, pid, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".sock"), "-")
		r, err := strconv.Atoi(rank)
		p, err2 := strconv.Atoi(pid)
		if err == nil && err2 == nil && r >= 0 && p > 0 {
			list = append(list, Socket{file, r, p})
		}
	}
	return list
}

// Ask asks one rank: what torch records of all backends, and if there is nothing, of NCCL.
func Ask(socket string, deadline time.Time) (Record, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	var r Record
	for _, handler := range []string{"fr_trace_json", "dump_nccl_trace_json"} {
		text, err := post(ctx, &client, handler)
		if err != nil {
			return r, err
		}
		if r, err = Parse(text); err != nil || len(r.Groups) > 0 {
			return r, err
		}
	}
	return r, nil
}

func post(ctx context.Context, client *http.Client, handler string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://rank/handler/"+handler, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", handler, answer.Status)
	}
	return text, err
}

// Parse reads what the recorder says in JSON.
func Parse(text []byte) (Record, error) {
	r := Record{Text: text, Groups: map[string]Group{}}
	var record struct {
		Status map[string]struct {
			Enqueued  number `json:"last_enqueued_collective"`
			Completed number `json:"last_completed_collective"`
		} `json:"pg_status"`
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return r, fmt.Errorf("torch's flight recorder: %w", err)
	}
	for name, s := range record.Status {
		r.Groups[name] = Group{int64(s.Enqueued), int64(s.Completed)}
	}
	return r, nil
}

// number is one that torch writes as a string.
type number int64

func (n *number) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	if err != nil {
		value = -1
	}
	*n = number(value)
	return nil
}
