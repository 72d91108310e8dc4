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
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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

// Ask asks one rank for what torch records of all backends and, if that is empty, of NCCL. NCCL's pickle would have the
// callers, too, but a rank that is asked for them the first time reads the debug information of its libraries for four seconds
// (torch 2.11): longer than there is time for, and by its I/O a sign of life.
func Ask(socket string, deadline time.Time) (Record, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	for _, handler := range []string{"fr_trace_json", "dump_nccl_trace_json"} {
		text, err := post(ctx, &client, handler)
		if err != nil {
			return Record{}, err
		}
		r, err := Parse(text)
		if err != nil || len(r.Groups) > 0 {
			return r, err
		}
	}
	return Record{}, nil
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
		Config map[string]config `json:"pg_config"`
		Status map[string]struct {
			Enqueued  number `json:"last_enqueued_collective"`
			Completed number `json:"last_completed_collective"`
		} `json:"pg_status"`
		Entries []struct {
			ID      number    `json:"pg_id"`
			Group   []string  `json:"process_group"`
			Number  int64     `json:"collective_seq_id"`
			What    string    `json:"profiling_name"`
			Created int64     `json:"time_created_ns"`
			Sizes   [][]int64 `json:"input_sizes"`
			Pair    bool      `json:"is_p2p"`
			Retired bool      `json:"retired"`
		} `json:"entries"`
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return r, fmt.Errorf("torch's flight recorder: %w", err)
	}
	statuses := map[string]status{}
	for id, s := range record.Status {
		statuses[id] = status{int64(s.Enqueued), int64(s.Completed)}
	}
	var entries []entry
	for _, e := range record.Entries {
		out := entry{Call: Call{Number: e.Number, What: e.What, Created: time.Unix(0, e.Created), Pair: e.Pair, Over: e.Retired,
			Elements: elements(e.Sizes)}}
		if out.id = fmt.Sprint(e.ID); len(e.Group) == 2 {
			out.Group, out.desc = e.Group[0], e.Group[1]
		}
		entries = append(entries, out)
	}
	r.Groups, r.Calls = assemble(slices.Collect(maps.Values(record.Config)), statuses, entries)
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
