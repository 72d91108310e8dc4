package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestDemo is README.md's demo as somebody sees it who has the deb or the wheel, python3 and the examples: in a root
// directory with neither Go nor make.
func TestDemo(t *testing.T) {
	if os.Getenv("GANGRUN_TEST_LONG") == "" {
		t.Skip("the demo from the deb and the wheel: make test-long")
	}
	chroot := asRoot(t)
	clean := filepath.Dir(filepath.Dir(filepath.Dir(harness.Peer(t, "rootfs/usr/bin/python3"))))
	root := filepath.Join(t.TempDir(), "root")
	do(t, "cp", "-a", clean, root)
	do(t, "cp", "-a", filepath.Join(harness.Root(), "examples"), root+"/root/examples")
	if out, err := exec.Command("mount", "-t", "proc", "proc", root+"/proc").CombinedOutput(); err != nil {
		harness.Missing(t, "the right to mount /proc ("+strings.TrimSpace(string(out))+")", "run as root of the machine")
	}
	t.Cleanup(func() { do(t, "umount", root+"/proc") })
	demo := func(t *testing.T) {
		t.Helper()
		shown := do(t, chroot, root, "/bin/sh", "-c", "! command -v go make && cd /root && exec examples/demo/demo gangrun")
		if !strings.Contains(shown, "As promised: ") {
			t.Error(shown)
		}
	}
	t.Run("deb", func(t *testing.T) {
		do(t, "cp", file(t, "*_"+runtime.GOARCH+".deb"), root+"/root/gangrun.deb")
		do(t, chroot, root, "dpkg", "-i", "/root/gangrun.deb")
		demo(t)
		do(t, chroot, root, "dpkg", "-r", "gangrun")
	})
	t.Run("wheel", func(t *testing.T) {
		wheel := file(t, "*"+map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]+".whl")
		do(t, harness.Program(t, "python3", "install python3"), "-m", "pip", "--disable-pip-version-check", "install", "--no-index",
			"--ignore-installed", "--root", root, "--prefix", "/usr", wheel)
		demo(t)
	})
}
