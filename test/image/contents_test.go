package image_test

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// largest is a little more than the program in the image needs, 32.0 MB now: a dependency that nobody wanted is noticed.
const largest = 33_000_000

// TestContents is one file, of the right machine, static, of the size that it may have.
func TestContents(t *testing.T) {
	images := build(t)
	t.Log(images.took)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			img := images.gangrun[arch]
			if want := []string{"-rwxr-xr-x /gangrun"}; !reflect.DeepEqual(img.files, want) {
				t.Errorf("files %q, want %q", img.files, want)
			}
			program, err := os.ReadFile(filepath.Join(img.root, "gangrun"))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes", len(program))
			if len(program) > largest {
				t.Errorf("%d bytes, more than %d", len(program), largest)
			}
			built(t, program, arch, machine)
		})
	}
}

// built ends the test unless data is a static program for a machine, built as the Makefile does.
func built(t *testing.T, data []byte, arch string, machine elf.Machine) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if file.Machine != machine {
		t.Errorf("%v, want %v", file.Machine, machine)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("it is not static")
		}
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for name, want := range map[string]string{"GOOS": "linux", "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true", "-tags": "urfave_cli_no_docs"} {
		if settings[name] != want {
			t.Errorf("%s=%s, want %s", name, settings[name], want)
		}
	}
}

// TestConfig is how the image starts, for whoever only reads it.
func TestConfig(t *testing.T) {
	images := build(t)
	for _, arch := range architectures {
		img := images.gangrun[arch]
		c := img.Config
		if img.Architecture != arch || !reflect.DeepEqual(c.Entrypoint, []string{"/gangrun"}) || c.Cmd != nil ||
			!reflect.DeepEqual(c.Env, []string{"PATH=/"}) || img.user(t) == 0 {
			t.Errorf("%s: %+v", arch, img)
		}
		if c.Labels["org.opencontainers.image.version"] != version || c.Labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
			t.Errorf("%s: %v", arch, c.Labels)
		}
	}
	if c := images.train.Config; !reflect.DeepEqual(c.Entrypoint, []string{"gangrun", "run", "--"}) || len(c.Cmd) == 0 {
		t.Errorf("%+v", c)
	}
}

// user is the image's, which has to be a number: Kubernetes could not tell otherwise that it is not root.
func (i *image) user(t *testing.T) int {
	t.Helper()
	name, _, _ := strings.Cut(i.Config.User, ":")
	uid, err := strconv.Atoi(name)
	if err != nil {
		t.Fatal(err)
	}
	return uid
}

// TestVersion starts the image as it is, by its entrypoint and by the program's name.
func TestVersion(t *testing.T) {
	own := build(t).own()
	for _, command := range [][]string{nil, {"gangrun"}} {
		t.Run(fmt.Sprint(command), func(t *testing.T) {
			t.Parallel()
			e := box{image: own, user: own.user(t), command: command, args: []string{"--version"}}.run(t)
			if want := "gangrun version " + version + "\n"; e.Code != 0 || e.Stdout != want {
				t.Errorf("exit code %d, %q, want %q\n%s", e.Code, e.Stdout, want, e.Stderr)
			}
		})
	}
}

// TestStore asks for a store of several nodes where there is no directory that could be written to.
func TestStore(t *testing.T) {
	own := build(t).own()
	t.Parallel()
	e := box{image: own, user: own.user(t), args: []string{"status", "--store", "http://127.0.0.1:1", "job"}}.run(t)
	if e.Code != 69 || !strings.Contains(e.Stderr, "the store cannot be reached") {
		t.Errorf("exit code %d, %q", e.Code, e.Stderr)
	}
}
