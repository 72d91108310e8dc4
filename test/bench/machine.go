package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// introduce says what is measured, and where.
func (l *lab) introduce() {
	var u unix.Utsname
	_ = unix.Uname(&u) // it cannot fail
	fmt.Printf("Linux %s, %d processors, %s\n", unix.ByteSliceToString(u.Release[:]), runtime.NumCPU(), runtime.Version())
	if info, err := os.Stat(l.ours[0].argv[0]); err == nil {
		fmt.Printf("gangrun: %.1f MB\n", float64(info.Size())/1e6)
	}
	if version := torchVersion(l.peers["torchrun"]); version != "" {
		fmt.Printf("torchrun: of torch %s\n", version)
	}
	var missing []string
	for _, name := range []string{"tini", "dumb-init", "catatonit", "torchrun"} {
		if l.peers[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		fmt.Printf("left out, since not installed: %s (test/peers/install inits torch)\n", strings.Join(missing, ", "))
	}
}

// torchVersion is what the directory of torch's metadata, beside a venv's bin, is called after.
func torchVersion(torchrun string) string {
	pattern := filepath.Join(filepath.Dir(filepath.Dir(torchrun)), "lib/python3*/site-packages/torch-*.dist-info")
	if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
		return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "torch-"), ".dist-info")
	}
	return ""
}

// warnOfLoad says when others use the machine: medians of programs that take turns bear some of that, not much.
func (l *lab) warnOfLoad() {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	var load float64
	if _, err := fmt.Sscan(string(data), &load); err == nil && load > 0.5*float64(runtime.NumCPU()) {
		fmt.Printf("\nwarning: the load is %.1f on %d processors; the times are too long and the ratios doubtful\n",
			load, runtime.NumCPU())
	}
}
