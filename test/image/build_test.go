package image_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// version is what the program in the image is told to be.
const version = "v1.2.3-test"

// architectures are those of the gangrun image.
var architectures = []string{"amd64", "arm64"}

// image is an image that was built, and its files in a directory of their own.
type image struct {
	root         string
	files        []string // with their modes; listed before any container has made its mount points there
	Architecture string
	Config       struct {
		User                 string
		Env, Entrypoint, Cmd []string
		Labels               map[string]string
	}
}

// images are all that the tests need.
type images struct {
	gangrun map[string]*image // by architecture
	bare    *image            // a small Debian
	train   *image            // the same with gangrun from that image, as the page says
	took    string
}

// build builds the images once for all tests. It ends the test as Missing does where that cannot be done.
func build(t *testing.T) *images {
	t.Helper()
	if os.Geteuid() != 0 {
		harness.Missing(t, "root", "run the tests as root")
	}
	for _, program := range []string{"buildah", "runc", "make"} {
		harness.Program(t, program, "make peers, and install make")
	}
	rootfs := harness.Peer(t, "rootfs")
	builder.once.Do(func() { builder.images, builder.err = builder.build(rootfs) })
	if builder.err != nil {
		t.Fatal(builder.err)
	}
	return builder.images
}

// own is the gangrun image for this machine.
func (i *images) own() *image { return i.gangrun[runtime.GOARCH] }

var builder store

// store is buildah's storage, in the tests' cache: always the same place, so that nothing piles up, and of one test
// process at a time.
type store struct {
	once   sync.Once
	images *images
	err    error
	dir    string
	lock   *os.File
}

func (s *store) open() (err error) {
	s.dir = filepath.Join(harness.Cache(), "image")
	if err := os.MkdirAll(harness.Cache(), 0o755); err != nil {
		return err
	}
	if s.lock, err = os.Create(s.dir + ".lock"); err != nil {
		return err
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir); err != nil { // of a test that was killed
		return err
	}
	return os.MkdirAll(filepath.Join(s.dir, "tmp"), 0o755)
}

func (s *store) close() {
	if s.lock != nil {
		_ = os.RemoveAll(s.dir) // the next one tries again
		s.lock.Close()
	}
}

// buildah runs a buildah command and returns what it prints.
func (s *store) buildah(args ...string) (string, error) {
	return s.run("buildah", append([]string{"--root", filepath.Join(s.dir, "root"), "--runroot", filepath.Join(s.dir, "run"),
		"--storage-driver", "vfs"}, args...)...)
}

func (s *store) run(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = harness.Root()
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(s.dir, "tmp"))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, out, errs.String())
	}
	return strings.TrimSpace(string(out)), err
}

func (s *store) build(rootfs string) (*images, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	made := &images{gangrun: make(map[string]*image)}
	start := time.Now()
	lap := func(what string) {
		made.took += fmt.Sprintf("%s %.1f s; ", what, time.Since(start).Seconds())
		start = time.Now()
	}
	if err := s.baseImages(rootfs); err != nil {
		return nil, err
	}
	lap("base images")
	if err := s.gangrunImage(); err != nil {
		return nil, err
	}
	lap("gangrun image for " + strings.Join(architectures, " and "))
	if err := s.trainImage(); err != nil {
		return nil, err
	}
	lap("training image")
	var err error
	for _, arch := range architectures {
		if made.gangrun[arch], err = s.unpack(gangrunImage, "--arch", arch); err != nil {
			return nil, err
		}
	}
	if made.bare, err = s.unpack(trainImage); err != nil {
		return nil, err
	}
	if made.train, err = s.unpack(builtTrainImage); err != nil {
		return nil, err
	}
	lap("unpacking")
	return made, nil
}

// goImage is what stands in for Docker Hub's: the same directories, and the Go of this machine.
const goImage = "localhost/go"

// baseImages makes those that the Dockerfiles begin with, out of the small Debian that is there already.
func (s *store) baseImages(rootfs string) error {
	c, err := s.buildah("from", "scratch")
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"copy", "--quiet", c, rootfs, "/"},
		{"commit", "--quiet", c, trainImage},
		// What the compiler is told here would be left in the image if buildah were given it for the build.
		{"config", "--env", "PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"--env", "GOPATH=/go", "--env", "GOPROXY=off", "--env", "GOTOOLCHAIN=local", "--env", "GOCACHE=/cache", c},
		{"commit", "--quiet", "--rm", c, goImage},
	} {
		if _, err := s.buildah(args...); err != nil {
			return err
		}
	}
	return nil
}

// gangrunImage builds this tree's Dockerfile, for all architectures. The compiler, its cache and the modules are this
// machine's.
func (s *store) gangrunImage() error {
	if _, err := s.run("go", "mod", "download"); err != nil {
		return err
	}
	out, err := s.run("go", "env", "GOROOT", "GOMODCACHE", "GOCACHE")
	if err != nil {
		return err
	}
	makeProgram, err := exec.LookPath("make")
	if err != nil {
		return err
	}
	at := strings.Fields(out)
	if len(at) != 3 {
		return fmt.Errorf("go env: %q", out)
	}
	_, err = s.buildah("bud", "--isolation", "chroot", "--pull-never",
		"--volume", at[0]+":/usr/local/go:ro", "--volume", at[1]+":/go/pkg/mod:ro", "--volume", at[2]+":/cache",
		"--volume", makeProgram+":/usr/bin/make:ro",
		"--build-arg", "GO_IMAGE="+goImage, "--build-arg", "VERSION="+version, "--build-arg", "BUILDPLATFORM=linux/"+runtime.GOARCH,
		"--platform", "linux/"+strings.Join(architectures, ",linux/"), "--manifest", gangrunImage, ".")
	return err
}

const builtTrainImage = "localhost/train-with-gangrun"

// trainImage builds the page's Dockerfile.
func (s *store) trainImage() error {
	text, err := block("dockerfile")
	if err != nil {
		return err
	}
	context := filepath.Join(s.dir, "train")
	if err := os.Mkdir(context, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(context, "Dockerfile"), []byte(text), 0o644); err != nil {
		return err
	}
	_, err = s.buildah("bud", "--isolation", "chroot", "--pull-never", "--tag", builtTrainImage, context)
	return err
}

// unpack makes a directory with an image's files.
func (s *store) unpack(name string, flags ...string) (*image, error) {
	c, err := s.buildah(slices.Concat([]string{"from", "--pull-never"}, flags, []string{name})...)
	if err != nil {
		return nil, err
	}
	img := new(image)
	if img.root, err = s.buildah("mount", c); err != nil {
		return nil, err
	}
	about, err := s.buildah("inspect", "--type", "container", c)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(about), &struct{ OCIv1 *image }{img}); err != nil {
		return nil, fmt.Errorf("%s: %w", about, err)
	}
	err = filepath.WalkDir(img.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == img.root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(img.root, path)
		img.files = append(img.files, fmt.Sprintf("%v /%s", info.Mode(), name))
		return err
	})
	return img, err
}
