package image_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/oci"
)

// The images that docs/images.md speaks of.
const (
	gangrunImage = "registry.example.com/gangrun:v1"
	trainImage   = "registry.example.com/train:v1"
)

// block is the first block in a language on docs/images.md.
func block(language string) (string, error) {
	page := filepath.Join(harness.Root(), "docs", "images.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s has no block of %s", page, language)
	}
	return string(found[1]), nil
}

// pod is what of a pod's manifest matters to a container.
type pod struct {
	Spec struct {
		SecurityContext            struct{ RunAsUser int }
		Volumes                    []struct{ Name string }
		InitContainers, Containers []container
	}
}

type container struct {
	Image           string
	Command, Args   []string
	SecurityContext struct{ ReadOnlyRootFilesystem bool }
	VolumeMounts    []struct {
		Name, MountPath string
		ReadOnly        bool
	}
}

// pagePod is the pod on the page.
func pagePod(t *testing.T) pod {
	t.Helper()
	text, err := block("yaml")
	if err != nil {
		t.Fatal(err)
	}
	// By way of JSON, which does not mind upper and lower case.
	var (
		any map[string]any
		p   pod
	)
	if err := yaml.Unmarshal([]byte(text), &any); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(any)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// volumes makes the pod's volumes, each writable for everybody, as an emptyDir is.
func (p pod) volumes(t *testing.T) map[string]string {
	t.Helper()
	dirs := make(map[string]string)
	for _, v := range p.Spec.Volumes {
		dirs[v.Name] = volume(t)
	}
	return dirs
}

func volume(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// box is the container as the kubelet would start it.
func (p pod) box(c container, img *image, volumes map[string]string) box {
	b := box{image: img, command: c.Command, args: c.Args, user: p.Spec.SecurityContext.RunAsUser,
		writable: !c.SecurityContext.ReadOnlyRootFilesystem}
	for _, m := range c.VolumeMounts {
		b.mounts = append(b.mounts, oci.Mount{Host: volumes[m.Name], Path: m.MountPath, ReadOnly: m.ReadOnly})
	}
	return b
}
