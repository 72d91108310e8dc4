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

// largest is more than the program in the image needs: 34 MB now.
const largest = 42_000_000

// TestContents is one file, of the right machine, static, of the size that it may have, with both programs in it.
func TestContents(t *testing.T) {
	images := build(t)
	t.Log(images.took)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) {
			img := images.gangrun[arch]
			if want := []string{"-rwxr-xr-x /gangrun"}; !reflect.DeepEqual(img.files, want) {
				t.Errorf("files %q, want %q", img.files, want)
			}
			slim, err := os.ReadFile(filepath.Join(img.root, "gangrun"))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes", len(slim))
			if len(slim) > largest {
				t.Errorf("%d bytes, more than %d", len(slim), largest)
			}
			const etcd = "go.etcd.io/etcd/server/v3"
			if modules := program(t, slim, arch, machine, "urfave_cli_no_docs,slim"); modules[etcd] {
				t.Error("the program that starts has the store in it")
			}
			if modules := program(t, embedded(t, slim), arch, machine, "urfave_cli_no_docs"); !modules[etcd] {
				t.Error("the program within has no store in it")
			}
		})
	}
}

// program ends the test unless data begins with a static program for a machine, built as the Makefile does, and returns
// the modules in it.
func program(t *testing.T, data []byte, arch string, machine elf.Machine, tags string) map[string]bool {
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
	for name, want := range map[string]string{"GOOS": "linux", "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true", "-tags": tags} {
		if settings[name] != want {
			t.Errorf("%s=%s, want %s", name, settings[name], want)
		}
	}
	modules := make(map[string]bool)
	for _, dep := range info.Deps {
		modules[dep.Path] = true
	}
	return modules
}

// embedded is the program within the program.
func embedded(t *testing.T, slim []byte) []byte {
	t.Helper()
	for data := slim; ; {
		at := bytes.Index(data[1:], []byte(elf.ELFMAG))
		if at < 0 {
			t.Fatal("there is no program within the program")
		}
		data = data[1+at:]
		if _, err := buildinfo.Read(bytes.NewReader(data)); err == nil {
			return data
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

// TestWholeProgram needs a store, which only the program within knows. There is no folder that it could be written to.
func TestWholeProgram(t *testing.T) {
	own := build(t).own()
	t.Parallel()
	e := box{image: own, user: own.user(t), args: []string{"status", "--store", "http://127.0.0.1:1", "job"}}.run(t)
	if e.Code != 64 || !strings.Contains(e.Stderr, "the store cannot be reached") {
		t.Errorf("exit code %d, %q", e.Code, e.Stderr)
	}
}
