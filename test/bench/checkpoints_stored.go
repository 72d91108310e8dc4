package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/objectstore"
)

// storedCheckpoints chooses among 100 checkpoints of 100 files behind a server that speaks S3, beside a program that
// lists all keys and does nothing else. A request to a real store takes some 20 ms.
func (l *lab) storedCheckpoints() error {
	const checkpoints, files = 100, 100
	s, err := serveS3(checkpoints, files)
	if err != nil {
		return err
	}
	defer s.close()
	const ours, lister = "gangrun", "all keys listed, no more"
	requests := &table{title: fmt.Sprintf("choosing among %d dcp checkpoints of %d files in an object store, requests",
		checkpoints, files), peers: []string{lister}}
	var tables []*table
	for _, delay := range []time.Duration{0, 20 * time.Millisecond} {
		s.delay.Store(int64(delay))
		t := &table{title: fmt.Sprintf("the same when each request takes %d ms, ms", delay.Milliseconds()),
			peers: []string{lister}}
		t.add(ours)
		t.add(lister)
		if tables = append(tables, t); len(tables) == 1 {
			requests.add(ours)
			requests.add(lister)
		}
		for range l.times(10, 2) {
			for i, look := range []func() error{
				func() error { return s.choose(l.ctx, checkpoints) },
				func() error { return s.list(l.ctx, checkpoints*files) },
			} {
				before := s.requests.Load()
				c, err := ofSelf(look)
				if err != nil {
					return fmt.Errorf("object store, %s: %w", t.rows[i].name, err)
				}
				t.rows[i].values = append(t.rows[i].values, c.wall)
				requests.rows[i].values = append(requests.rows[i].values, float64(s.requests.Load()-before))
			}
		}
	}
	requests.print()
	for _, t := range tables {
		t.print()
	}
	return nil
}

// bucketServer is a server that speaks as much S3 as is needed here.
type bucketServer struct {
	keys     []string // sorted
	metadata []byte
	delay    atomic.Int64 // of each answer, in nanoseconds
	requests atomic.Int64
	url      string
	server   *http.Server
	modified time.Time
}

const bucket = "bucket"

func serveS3(checkpoints, files int) (*bucketServer, error) {
	s := &bucketServer{modified: time.Now().Add(-time.Hour).UTC().Truncate(time.Second)}
	shards, metadata := dcpFiles(files)
	s.metadata = metadata
	for step := range checkpoints {
		for _, name := range append(slices.Clip(shards), ".metadata") {
			s.keys = append(s.keys, fmt.Sprintf("run/save-%d/%s", step+1, name))
		}
	}
	slices.Sort(s.keys)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: s}
	go s.server.Serve(listener)
	return s, nil
}

func (s *bucketServer) close() { _ = s.server.Close() }

// choose looks as a node does before a round.
func (s *bucketServer) choose(ctx context.Context, newest int64) error {
	scanner := &checkpoint.Scanner{Open: func(ctx context.Context) (fs.FS, error) {
		return objectstore.Open(ctx, "s3://"+bucket+"/run", objectstore.Options{Getenv: func(name string) string {
			return map[string]string{"AWS_ENDPOINT_URL_S3": s.url}[name]
		}})
	}}
	return choose(ctx, scanner, "dcp", newest)
}

// page is one page of a listing (ListObjectsV2 in the reference of the Amazon S3 API).
type page struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string   `xml:",omitempty"`
	CommonPrefixes        []prefix `xml:",omitempty"`
	Contents              []content
}

type prefix struct{ Prefix string }

type content struct {
	Key          string
	LastModified time.Time
	ETag         string
	Size         int64
}

const pageSize = 1000

// list lists all keys, page by page.
func (s *bucketServer) list(ctx context.Context, want int) error {
	got, token := 0, ""
	for {
		q := url.Values{"list-type": {"2"}, "continuation-token": {token}}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/"+bucket+"/?"+q.Encode(), nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		var p page
		err = errors.Join(xml.NewDecoder(answer.Body).Decode(&p), answer.Body.Close())
		if err != nil {
			return err
		}
		if got += len(p.Contents); !p.IsTruncated {
			break
		}
		token = p.NextContinuationToken
	}
	if got != want {
		return fmt.Errorf("%d keys, %d expected", got, want)
	}
	return nil
}

func (s *bucketServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	time.Sleep(time.Duration(s.delay.Load()))
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+bucket), "/")
	if name == "" {
		_ = xml.NewEncoder(w).Encode(s.page(r.URL.Query()))
		return
	}
	if _, found := slices.BinarySearch(s.keys, name); !found {
		http.NotFound(w, r)
		return
	}
	data := s.data(name)
	w.Header().Set("ETag", tag(len(data)))
	http.ServeContent(w, r, "", s.modified, bytes.NewReader(data))
}

func tag(n int) string { return strconv.Quote(strconv.Itoa(n)) }

func (s *bucketServer) data(key string) []byte {
	if strings.HasSuffix(key, "/.metadata") {
		return s.metadata
	}
	return bytes.Repeat([]byte{1}, dcpShard)
}

// page begins at the token, which is a key.
func (s *bucketServer) page(q url.Values) (p page) {
	start, _ := slices.BinarySearch(s.keys, max(q.Get("prefix"), q.Get("continuation-token")))
	for _, key := range s.keys[start:] {
		rest, below := strings.CutPrefix(key, q.Get("prefix"))
		if !below {
			break
		}
		dir, _, deep := strings.Cut(rest, "/")
		deep = deep && q.Get("delimiter") == "/"
		common := prefix{q.Get("prefix") + dir + "/"}
		if deep && slices.Contains(p.CommonPrefixes[max(0, len(p.CommonPrefixes)-1):], common) {
			continue
		}
		if len(p.Contents)+len(p.CommonPrefixes) == pageSize {
			p.IsTruncated, p.NextContinuationToken = true, key
			break
		}
		if deep {
			p.CommonPrefixes = append(p.CommonPrefixes, common)
			continue
		}
		n := len(s.data(key))
		p.Contents = append(p.Contents, content{key, s.modified, tag(n), int64(n)})
	}
	return p
}
