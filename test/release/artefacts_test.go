package release_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// TestArtefacts is what a release consists of, with its checksums.
func TestArtefacts(t *testing.T) {
	dir := dist(t)
	want := []string{"SHA256SUMS"}
	for _, a := range [][2]string{{"amd64", "x86_64"}, {"arm64", "aarch64"}} {
		want = append(want,
			fmt.Sprintf("gangrun-%s-linux-%s.tar.gz", packaged, a[0]), fmt.Sprintf("gangrun-%s-linux-%s.cdx.json", packaged, a[0]),
			fmt.Sprintf("gangrun_%s_%s.deb", packaged, a[0]), fmt.Sprintf("gangrun-%s-1.%s.rpm", packaged, a[1]),
			fmt.Sprintf("gangrun-%s-py3-none-manylinux_2_17_%s.manylinux2014_%[2]s.musllinux_1_1_%[2]s.whl", packaged, a[1]))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("%d files, want %d: %v", len(entries), len(want), entries)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want[1:] {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); !strings.Contains(string(sums), line) {
			t.Errorf("SHA256SUMS lacks %s", line)
		}
	}
}

// TestArchive has a static program for either machine in it, and the licences of all that is linked into it.
func TestArchive(t *testing.T) {
	for name, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		dir := t.TempDir()
		do(t, "tar", "-xzf", file(t, "*-linux-"+name+".tar.gz"), "-C", dir)
		in := filepath.Join(dir, fmt.Sprintf("gangrun-%s-linux-%s", packaged, name))
		program, err := elf.Open(filepath.Join(in, "gangrun"))
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		if libraries, _ := program.ImportedLibraries(); program.Machine != machine || len(libraries) > 0 || program.Section(".interp") != nil {
			t.Errorf("%s: %v, %q", name, program.Machine, libraries)
		}
		licences, err := os.ReadFile(filepath.Join(in, "LICENSES.third-party"))
		if err != nil {
			t.Fatal(err)
		}
		var bom struct {
			Components []struct{ Name, Version, PURL string }
		}
		data, err := os.ReadFile(file(t, "*-linux-"+name+".cdx.json"))
		if err != nil || json.Unmarshal(data, &bom) != nil || len(bom.Components) < 10 {
			t.Fatalf("%v: %s", err, data)
		}
		for _, c := range bom.Components[1:] {
			if !bytes.Contains(licences, []byte("=== "+c.Name+" "+c.Version+": ")) {
				t.Errorf("no licence of %s %s", c.Name, c.Version)
			}
		}
		if name == runtime.GOARCH {
			works(t, []string{filepath.Join(in, "gangrun")}, []string{"true"}, []string{"false"})
		}
	}
}

// TestReproducible makes the same release elsewhere, and gets the same bytes.
func TestReproducible(t *testing.T) {
	first := dist(t)
	elsewhere, second := filepath.Join(t.TempDir(), "another", "place"), t.TempDir()
	if err := os.MkdirAll(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	list := exec.Command("sh", "-c", `git ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done | tar --null -T - -cf - | tar -xf - -C "$0"`, elsewhere)
	list.Path, list.Args[0] = "/bin/bash", "bash"
	list.Dir = harness.Root()
	if out, err := list.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if wrong := release(elsewhere, second); wrong != "" {
		t.Fatal(wrong)
	}
	sums := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if a, b := sums(first), sums(second); a != b {
		t.Errorf("made twice:\n%s\n%s", a, b)
	}
}

// TestWheel installs the wheel with pip where nothing else is, and finds no Python in it.
func TestWheel(t *testing.T) {
	python := harness.Program(t, "python3", "install python3")
	wheel := file(t, "*"+map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]+".whl")
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command(python, "-m", "venv", venv).CombinedOutput(); err != nil {
		harness.Missing(t, "python3 -m venv: "+string(out), "make peers")
	}
	do(t, venv+"/bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--no-index", wheel)
	works(t, []string{venv + "/bin/gangrun"}, []string{"true"}, []string{"false"})
	if shown := do(t, venv+"/bin/python", "-m", "pip", "--disable-pip-version-check", "show", "gangrun"); !strings.Contains(shown, "Version: "+packaged+"\n") {
		t.Error(shown)
	}
	do(t, venv+"/bin/python", "-m", "pip", "--disable-pip-version-check", "uninstall", "-y", "gangrun")
	if _, err := os.Stat(venv + "/bin/gangrun"); err == nil {
		t.Error("it is still there")
	}
	for _, pattern := range []string{"*x86_64.whl", "*aarch64.whl"} {
		r, err := zip.OpenReader(file(t, pattern))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, f := range r.File {
			if strings.HasSuffix(f.Name, ".py") {
				t.Errorf("%s: %s", pattern, f.Name)
			}
		}
	}
}

// TestUvx runs it from the wheel, without an environment of its own and without a network.
func TestUvx(t *testing.T) {
	uvx := harness.Peer(t, "uv/bin/uvx")
	wheel := file(t, "*"+map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]+".whl")
	t.Setenv("UV_CACHE_DIR", t.TempDir())
	works(t, []string{uvx, "--quiet", "--offline", "--no-config", "--from", wheel, "gangrun"}, []string{"true"}, []string{"false"})
}

// TestDeb installs the package into a root that holds nothing else, and runs it there.
func TestDeb(t *testing.T) {
	dpkg := harness.Program(t, "dpkg", "a Debian")
	chroot := asRoot(t)
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "proc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, dpkg, "--root="+root, "--force-not-root", "--force-bad-path", "--log=/dev/null", "-i", file(t, "*_"+runtime.GOARCH+".deb"))
	if status := do(t, "dpkg-query", "--admindir="+root+"/var/lib/dpkg", "-W", "-f", "${Version} ${db:Status-Status}", "gangrun"); status != packaged+" installed" {
		t.Error(status)
	}
	installed(t, chroot, root)
	do(t, dpkg, "--root="+root, "--force-not-root", "--force-bad-path", "--log=/dev/null", "-r", "gangrun")
	if _, err := os.Stat(root + "/usr/bin/gangrun"); err == nil {
		t.Error("it is still there")
	}
}

// TestRPM does the same with the rpm.
func TestRPM(t *testing.T) {
	rpm := harness.Program(t, "rpm", "make peers")
	chroot := asRoot(t)
	root := t.TempDir()
	uname := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	do(t, rpm, "--root", root, "--nodeps", "--nosignature", "--dbpath", "/var/lib/rpm", "-i", file(t, "*."+uname+".rpm"))
	if got := do(t, rpm, "--root", root, "--dbpath", "/var/lib/rpm", "-q", "gangrun"); got != fmt.Sprintf("gangrun-%s-1.%s\n", packaged, uname) {
		t.Error(got)
	}
	installed(t, chroot, root)
}

func asRoot(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		harness.Missing(t, "root, for a clean root directory", "run as root")
	}
	return harness.Program(t, "chroot", "install coreutils")
}

// installed runs what was installed into a root directory, in which there is no other program: a static one needs none.
func installed(t *testing.T, chroot, root string) {
	t.Helper()
	for _, path := range []string{"usr/share/doc/gangrun/copyright", "usr/share/doc/gangrun/LICENSES.third-party",
		"usr/share/bash-completion/completions/gangrun", "usr/share/fish/vendor_completions.d/gangrun.fish"} {
		if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", path, err)
		}
	}
	_ = os.MkdirAll(filepath.Join(root, "proc"), 0o755)
	if err := exec.Command("mount", "-t", "proc", "proc", filepath.Join(root, "proc")).Run(); err != nil {
		harness.Missing(t, "the right to mount /proc", "run as root of the machine")
	}
	defer func() { do(t, "umount", filepath.Join(root, "proc")) }()
	works(t, []string{chroot, root, "/usr/bin/gangrun"}, []string{"/usr/bin/gangrun", "version"}, []string{"/usr/bin/gangrun", "explain", "256"})
}

// TestOtherProcessor runs the program for arm64 in an emulator of user programs, as process 1: the emulator knows nothing
// of the call by which another process adopts orphans.
func TestOtherProcessor(t *testing.T) {
	if runtime.GOARCH == "arm64" {
		return // TestArchive has run it
	}
	qemu := harness.Program(t, "qemu-aarch64-static", "make peers")
	dir := t.TempDir()
	do(t, "tar", "-xzf", file(t, "*-linux-arm64.tar.gz"), "-C", dir)
	program := filepath.Join(dir, fmt.Sprintf("gangrun-%s-linux-arm64/gangrun", packaged))
	works(t, harness.PIDNamespace(t, qemu, program), []string{"/bin/true"}, []string{"/bin/false"})

	res := harness.Run(t, time.Minute, nil, qemu, program, "run", "--", "/bin/true")
	if res.Code != 0 && !strings.Contains(res.Stderr, "start gangrun as PID 1\n") {
		t.Errorf("exit code %d: it does not say what to do: %s", res.Code, res.Stderr)
	}
}
