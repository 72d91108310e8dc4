package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/remote"
)

// checkpoints measures how long it takes to choose one: among many, of a large one, and in an object store.
func (l *lab) checkpoints() error {
	for _, k := range []struct {
		name string
		save func(root string, step, files int) error
	}{
		{"dcp", saveDCP},
		{"deepspeed", saveDeepSpeed},
	} {
		if err := l.manyCheckpoints(k.name, k.save); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	if err := l.largeCheckpoints(); err != nil {
		return err
	}
	return l.storedCheckpoints()
}

// manyCheckpoints looks for the first time, and again with what the first look has found out, beside find, which takes
// the sizes of all files and no more. Processor time is that of all threads, and tells more when the machine is busy.
func (l *lab) manyCheckpoints(name string, save func(root string, step, files int) error) error {
	checkpoints, files := 100, 1024
	if l.quick {
		checkpoints, files = 10, 64
	}
	root := filepath.Join(l.dir, name)
	defer os.RemoveAll(root)
	for step := range checkpoints {
		if l.ctx.Err() != nil {
			return l.ctx.Err()
		}
		if err := save(root, step+1, files); err != nil {
			return err
		}
	}
	const first, again, whole, find = "first look", "later look", "gangrun checkpoint select", "find -size +0"
	of := fmt.Sprintf("%d %s checkpoints of %d files", checkpoints, name, files)
	wall := &table{title: "choosing among " + of + ", ms", peers: []string{find}}
	used := &table{title: "the same, ms of processor time", peers: []string{find}}
	cold := &table{title: "the same when the kernel has forgotten all files, ms", peers: []string{find}}
	for _, name := range []string{first, again, whole, find} {
		r := wall.add(name)
		used.add(name)
		if name == first || name == again {
			r.budget = chooseBudget
		}
	}
	cold.add(first)
	cold.add(find)
	var known *checkpoint.Scanner
	look := map[string]func() (cost, error){
		first: func() (cost, error) {
			known = &checkpoint.Scanner{FS: os.DirFS(root)}
			return ofSelf(func() error { return choose(l.ctx, known, name, int64(checkpoints)) })
		},
		again: func() (cost, error) {
			return ofSelf(func() error { return choose(l.ctx, known, name, int64(checkpoints)) })
		},
		whole: func() (cost, error) {
			return ofCommand(exec.CommandContext(l.ctx, l.ours[0].argv[0], "checkpoint", "select", root))
		},
		find: func() (cost, error) { return ofCommand(exec.CommandContext(l.ctx, "find", root, "-size", "+0")) },
	}
	if _, err := look[find](); err != nil { // all begin with files that the kernel knows
		return err
	}
	for range l.times(10, 1) {
		for i, r := range wall.rows {
			c, err := look[r.name]()
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			r.values = append(r.values, c.wall)
			used.rows[i].values = append(used.rows[i].values, c.used)
		}
	}
	wall.print()
	used.print()
	for range l.times(3, 1) {
		for _, r := range cold.rows {
			if err := dropCaches(); err != nil {
				fmt.Printf("\nfrom the disk: left out, since the kernel cannot be made to forget the files: %v\n", err)
				return nil
			}
			c, err := look[r.name]()
			if err != nil {
				return fmt.Errorf("%s, from the disk: %w", r.name, err)
			}
			r.values = append(r.values, c.wall)
		}
	}
	cold.print()
	return nil
}

// choose looks, and wants the checkpoint of this step to be the one to go on from.
func choose(ctx context.Context, s *checkpoint.Scanner, name string, step int64) error {
	scan, err := s.Scan(ctx)
	if err != nil {
		return err
	}
	offer, err := checkpoint.Policy{}.Offer(scan, checkpoint.Memory{}, checkpoint.Run{}, time.Now())
	if err != nil {
		return err
	}
	if scan.Format != name || len(offer.Steps) == 0 || offer.Steps[0] != step {
		return fmt.Errorf("of %d checkpoints of the format %q the steps %v are offered, %d of %s expected first",
			len(scan.Checkpoints), scan.Format, offer.Steps, step, name)
	}
	return nil
}

// cost is what something took, in ms: by the clock, and of processor time.
type cost struct{ wall, used float64 }

// ofSelf measures a part of this process, in which nothing else happens.
func ofSelf(do func() error) (c cost, err error) {
	runtime.GC()
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before) // it cannot fail
	began := time.Now()
	err = do()
	c.wall = milliseconds(time.Since(began))
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	c.used = float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / 1e6
	return c, err
}

// ofCommand measures a command whose output nobody reads.
func ofCommand(cmd *exec.Cmd) (c cost, err error) {
	cmd.Env = environment()
	began := time.Now()
	err = cmd.Run()
	c.wall = milliseconds(time.Since(began))
	if cmd.ProcessState != nil {
		c.used = milliseconds(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	}
	return c, err
}

// dropCaches makes the kernel forget what it knows of all files (Documentation/admin-guide/sysctl/vm.rst). It needs
// root.
func dropCaches() error {
	syscall.Sync() // what is not written yet cannot be forgotten
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0)
}

// saveDCP writes what torch.distributed.checkpoint does: shards, and then .metadata that names them.
func saveDCP(root string, step, files int) error {
	dir := filepath.Join(root, fmt.Sprintf("save-%d", step))
	shards, metadata := dcpFiles(files)
	err := os.MkdirAll(dir, 0o755)
	for _, name := range shards {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), make([]byte, dcpShard), 0o644))
	}
	return errors.Join(err, os.WriteFile(filepath.Join(dir, ".metadata"), metadata, 0o644))
}

const dcpShard = 64 // bytes

func dcpFiles(files int) (shards []string, metadata []byte) {
	sizes := slices.Repeat([]int64{dcpShard}, files-1)
	for rank := range files - 1 {
		shards = append(shards, fmt.Sprintf("__%d_0.distcp", rank))
	}
	return shards, filetest.DCPMetadata(shards, sizes)
}

// saveDeepSpeed writes what DeepSpeed does with ZeRO: a share of the optimizer's state for each rank, and the model.
func saveDeepSpeed(root string, step, files int) error {
	tag := fmt.Sprintf("global_step%d", step)
	dir := filepath.Join(root, tag)
	err := os.MkdirAll(dir, 0o755)
	share := filetest.Torch(make([]byte, 8))
	for rank := range files - 1 {
		name := fmt.Sprintf("zero_pp_rank_%d_mp_rank_00_optim_states.pt", rank)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), share, 0o644))
	}
	ranks := string(binary.LittleEndian.AppendUint16([]byte{'M'}, uint16(files-1))) // BININT2
	state := filetest.NewPickle(2).Op("}(").Text("dp_world_size").Op(ranks).Text("mp_world_size").Op("K\x01u").Stop()
	model := filetest.Zip(filetest.Record{Name: "archive/data.pkl", Data: state})
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "mp_rank_00_model_states.pt"), model, 0o644),
		os.WriteFile(filepath.Join(root, "latest"), []byte(tag), 0o644))
}

// largeCheckpoints looks closely at checkpoints of 10 GB, which are holes for the most part.
func (l *lab) largeCheckpoints() error {
	const size = 10e9
	times := &table{title: "a close look at a checkpoint of 10 GB, ms"}
	memory := &table{title: "what is allocated for that in all, KiB"}
	for _, large := range []struct {
		name string
		save func(dir string, size int64) error
	}{
		{"8 safetensors files with an index", saveSafetensors},
		{"1 torch file", saveTorch},
	} {
		dir := filepath.Join(l.dir, "large")
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := large.save(dir, size); err != nil {
			return fmt.Errorf("%s: %w", large.name, err)
		}
		took, allocated := times.add(large.name), memory.add(large.name)
		for range l.times(10, 2) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c, err := ofSelf(func() error { return lookClosely(l.ctx, os.DirFS(dir), size) })
			runtime.ReadMemStats(&after)
			if err != nil {
				return fmt.Errorf("%s: %w", large.name, err)
			}
			took.values = append(took.values, c.wall)
			allocated.values = append(allocated.values, float64(after.TotalAlloc-before.TotalAlloc)/1024)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	times.print()
	memory.print()
	return nil
}

func lookClosely(ctx context.Context, fsys fs.FS, size int64) error {
	o := format.Options{Level: format.Manifests}
	found, err := format.Find(ctx, fsys, o)
	if err != nil {
		return err
	}
	if len(found.Checkpoints) != 1 {
		return fmt.Errorf("%d checkpoints of the format %q, 1 expected", len(found.Checkpoints), found.Format)
	}
	c := found.Checkpoints[0]
	format.Check(ctx, fsys, c, o)
	if !c.Complete || c.Size < size {
		return fmt.Errorf("%s, %d bytes: %s %s", c.Path, c.Size, c.Reason, c.Detail)
	}
	return nil
}

// saveSafetensors writes a model in 8 shards of 100 tensors.
func saveSafetensors(dir string, size int64) error {
	const shards, tensors = 8, 100
	each := size / shards / tensors
	var names []string
	for i := range shards {
		header := bytes.NewBufferString("{")
		for t := range int64(tensors) {
			fmt.Fprintf(header, `"layers.%d.weight":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]},`, t, each,
				t*each, (t+1)*each)
		}
		header.Truncate(header.Len() - 1)
		header.WriteString("}")
		data := append(binary.LittleEndian.AppendUint64(nil, uint64(header.Len())), header.Bytes()...)
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, shards)
		names = append(names, name)
		err := os.WriteFile(filepath.Join(dir, name), data, 0o644)
		if err = errors.Join(err, os.Truncate(filepath.Join(dir, name), int64(len(data))+each*tensors)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), filetest.WeightIndex(names...), 0o644)
}

// saveTorch writes a file of torch.save with one storage.
func saveTorch(dir string, size int64) error {
	f, err := os.Create(filepath.Join(dir, "step_1000.pt"))
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(holes{f})
	const storage = "archive/data/0"
	for _, r := range filetest.TorchRecords("archive", make([]byte, 8)) {
		length := int64(len(r.Data))
		if r.Name == storage {
			length = size
		}
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: r.Name, CompressedSize64: uint64(length), UncompressedSize64: uint64(length),
		})
		if err == nil && r.Name == storage {
			err = writeZeros(w, size)
		} else if err == nil {
			_, err = w.Write(r.Data)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

func writeZeros(w io.Writer, n int64) (err error) {
	piece := make([]byte, 64*hole)
	for ; n > 0 && err == nil; n -= int64(len(piece)) {
		_, err = w.Write(piece[:min(n, int64(len(piece)))])
	}
	return err
}

// holes leaves out what is long: it is zero.
type holes struct{ f *os.File }

func (h holes) Write(p []byte) (int, error) {
	if len(p) < hole {
		return h.f.Write(p)
	}
	_, err := h.f.Seek(int64(len(p)), io.SeekCurrent)
	return len(p), err
}

const hole = 1 << 20

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
		return remote.Open(ctx, "s3://"+bucket+"/run", remote.Options{Getenv: func(name string) string {
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
	return make([]byte, dcpShard)
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
