// Command release makes everything that a release consists of, from the checkout in which it runs: static programs for
// two architectures as tar.gz, deb, rpm and wheel, a list of what is in them (SBOM), and checksums. The same commit and
// the same Go make the same bytes.
//
//	go run ./packaging/release -version v1.2.3 -out dist
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// nfpm makes the deb and the rpm.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0"

// architecture is what a release is made for.
type architecture struct {
	name   string // as Go and Debian call it
	uname  string // as the kernel, the rpm and Python do
	wheels string // platform tags: a static program needs no library of any kind
}

var architectures = []architecture{
	{"amd64", "x86_64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"},
	{"arm64", "aarch64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"},
}

// release is one release that is being made.
type release struct {
	version Version
	at      time.Time // of every file in it
	out     string    // the directory of the files that are published
	stage   string    // that of what goes into them
}

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "version, as a tag or git describe gives it; default: git describe")
	out := flag.String("out", "dist", "directory for the files")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("release: %q is one too many", flag.Arg(0))
	}
	if err := run(*version, *out); err != nil {
		log.Fatalln("release:", err)
	}
}

func run(version, out string) error {
	if version == "" {
		version = strings.TrimSpace(output("git", "describe", "--tags", "--always", "--dirty"))
	}
	v, err := ParseVersion(version)
	if err != nil {
		return err
	}
	at, err := timestamp()
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "gangrun-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, a := range architectures {
		r := release{version: v, at: at, out: out, stage: filepath.Join(stage, a.name)}
		for _, step := range []func(architecture) error{r.build, r.gather, r.archive, r.packages, r.wheel, r.sbom} {
			if err := step(a); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
		}
	}
	return checksums(out)
}

// timestamp is the time that every file of the release has: the commit's, or SOURCE_DATE_EPOCH
// (https://reproducible-builds.org/specs/source-date-epoch/).
func timestamp() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		text = strings.TrimSpace(output("git", "log", "-1", "--format=%ct"))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("no time for the files: neither SOURCE_DATE_EPOCH nor git says one (%q)", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build makes the program as make build does, for another machine.
func (r release) build(a architecture) error {
	if err := os.MkdirAll(r.stage, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("make", "build", "VERSION="+r.version.Given, "BIN="+filepath.Join(r.stage, "gangrun"))
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+a.name, "CGO_ENABLED=0", "GOAMD64=v1", "GOFLAGS=-buildvcs=false")
	return loudly(cmd)
}

// gather puts what goes beside the program into the stage.
func (r release) gather(architecture) error {
	for _, name := range []string{"LICENSE", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.stage, name), data, 0o644); err != nil {
			return err
		}
	}
	if err := r.licences(); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "fish"} { // the same for every architecture, by the Go of this one
		cmd := exec.Command("go", "run", "-buildvcs=false", "./cmd/gangrun", "completion", shell)
		script, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("completion for %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(r.stage, "gangrun."+shell), script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packages makes the deb and the rpm.
func (r release) packages(a architecture) error {
	for format, name := range map[string]string{
		"deb": fmt.Sprintf("gangrun_%s_%s.deb", r.version.Package, a.name),
		"rpm": fmt.Sprintf("gangrun-%s-1.%s.rpm", r.version.Package, a.uname),
	} {
		cmd := exec.Command("go", "run", nfpm, "package", "--config", "packaging/nfpm.yaml", "--packager", format,
			"--target", filepath.Join(r.out, name))
		cmd.Env = append(os.Environ(), "ARCH="+a.name, "VERSION="+r.version.Package, "STAGE="+r.stage,
			fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()))
		if err := loudly(cmd); err != nil {
			return err
		}
	}
	return nil
}

// checksums lists what is in the directory as sha256sum does.
func checksums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), e.Name()))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}

// loudly runs a command whose output matters only when it fails.
func loudly(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// output is what a command prints; "" when it fails.
func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
