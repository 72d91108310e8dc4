package image_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness/oci"
)

// TestInitContainer runs the pod of the page: the gangrun image's container puts gangrun into the volume, twice, since
// a kubelet may do so, and an image that has no gangrun of its own trains with it.
func TestInitContainer(t *testing.T) {
	images := build(t)
	t.Parallel()
	p := pagePod(t)
	if len(p.Spec.InitContainers) != 1 || len(p.Spec.Containers) != 1 {
		t.Fatalf("%+v", p)
	}
	first, second := p.Spec.InitContainers[0], p.Spec.Containers[0]
	if first.Image != gangrunImage || second.Image != trainImage {
		t.Fatalf("images %s, %s", first.Image, second.Image)
	}
	volumes := p.volumes(t)
	for range 2 {
		e := p.box(first, images.own(), volumes).run(t)
		if e.Code != 0 || e.Stdout != "/shared/gangrun\n" || e.Stderr != "" {
			t.Fatalf("exit code %d, %q, %q", e.Code, e.Stdout, e.Stderr)
		}
	}
	want, err := os.ReadFile(filepath.Join(images.own().root, "gangrun"))
	if err != nil {
		t.Fatal(err)
	}
	onlyGangrun(t, volumes["gangrun"], want)

	second.Args = []string{"python3", "-c", train}
	e := p.box(second, images.bare, volumes).run(t)
	e.Want(t, 7, exitcodes.Fatal, "Error")
	for _, want := range []string{"parent 1 /shared/gangrun run -- python3\n", "socket: 1 error file: 1", "Read-only file system"} {
		if !strings.Contains(e.Stdout, want) {
			t.Errorf("no %q in %q\n%s", want, e.Stdout, e.Stderr)
		}
	}
	if e.Step == nil || *e.Step != 12 {
		t.Errorf("%s", e.Raw)
	}
	// The copy is the whole program.
	second.Command, second.Args = []string{"/shared/gangrun"}, []string{"status", "--store", "http://127.0.0.1:1", "job"}
	if e := p.box(second, images.bare, volumes).run(t); e.Code != 69 || !strings.Contains(e.Stderr, "the store cannot be reached") {
		t.Errorf("exit code %d, %q", e.Code, e.Stderr)
	}
}

// onlyGangrun ends the test unless a volume has a gangrun with that content in it, and nothing else.
func onlyGangrun(t *testing.T, dir string, want []byte) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != 1 || found[0].Name() != "gangrun" {
		t.Fatalf("in the volume: %v, %v", found, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "gangrun")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file in the volume: %d bytes of %d, or others, %v", len(got), len(want), err)
	}
}

// TestInstallCannot tries volumes that cannot take a gangrun. What was there before is still there.
func TestInstallCannot(t *testing.T) {
	own := build(t).own()
	tests := []struct {
		name    string
		volume  func(*testing.T) string // nil: there is none
		mount   oci.Mount
		code    int
		problem string
	}{
		{"not mounted", nil, oci.Mount{Path: "/not/mounted"}, 66, "/not/mounted: no such directory"},
		{"read-only", volume, oci.Mount{Path: "/shared", ReadOnly: true}, exitcodes.CodeBadConfig, "read-only file system"},
		{"of somebody else", (*testing.T).TempDir, oci.Mount{Path: "/shared"}, exitcodes.CodeBadConfig, "permission denied"},
		{"full", small, oci.Mount{Path: "/shared"}, exitcodes.CodeBadConfig, "no space left on device"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := box{image: own, user: 1000, args: []string{"install", tt.mount.Path}}
			if tt.volume != nil {
				tt.mount.Host = tt.volume(t)
				b.mounts = []oci.Mount{tt.mount}
				if err := os.WriteFile(filepath.Join(tt.mount.Host, "gangrun"), []byte("old"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			e := b.run(t)
			if e.Code != tt.code || e.Stdout != "" || !strings.Contains(e.Stderr, tt.problem) || strings.Count(e.Stderr, "\n") != 1 {
				t.Errorf("exit code %d, %q, %q, want one line with %q", e.Code, e.Stdout, e.Stderr, tt.problem)
			}
			if tt.volume != nil {
				onlyGangrun(t, tt.mount.Host, []byte("old"))
			}
		})
	}
}

// small is a volume that is too small for a gangrun.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=777"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}
