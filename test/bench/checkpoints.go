package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/file/filetest"
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

// manyCheckpoints looks for the first time, and again with what the first look has learned, beside find, which takes
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

// choose looks, and wants the checkpoint of this step to be the one to resume from.
func choose(ctx context.Context, s *checkpoint.Scanner, name string, step int64) error {
	scan, err := s.Scan(ctx)
	if err != nil {
		return err
	}
	offer, err := checkpoint.Policy{}.Offer(scan, checkpoint.History{}, checkpoint.Run{}, time.Now())
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
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte{1}, dcpShard), 0o644))
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
