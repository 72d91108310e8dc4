package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sbom lists the modules that are linked into the program, as the program itself says, in CycloneDX 1.5
// (https://cyclonedx.org/docs/1.5/json/).
func (r release) sbom(a architecture) error {
	info, err := buildinfo.ReadFile(filepath.Join(r.stage, "gangrun"))
	if err != nil {
		return err
	}
	data, err := SBOM(info, r.version.Package)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, fmt.Sprintf("gangrun-%s-linux-%s.cdx.json", r.version.Package, a.name)), data, 0o644)
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// SBOM is the list of what is in a program.
func SBOM(info *buildinfo.BuildInfo, version string) ([]byte, error) {
	list := []component{{"library", "std", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version})
	}
	bom := struct {
		Format      string `json:"bomFormat"`
		SpecVersion string `json:"specVersion"`
		Version     int    `json:"version"`
		Metadata    struct {
			Component component `json:"component"`
		} `json:"metadata"`
		Components []component `json:"components"`
	}{Format: "CycloneDX", SpecVersion: "1.5", Version: 1, Components: list}
	bom.Metadata.Component = component{"application", "gangrun", version, "pkg:golang/" + info.Main.Path + "@" + version}
	data, err := json.MarshalIndent(bom, "", "  ")
	return append(data, '\n'), err
}

// licences puts the licences of what is linked into the program into one file.
func (r release) licences() error {
	info, err := buildinfo.ReadFile(filepath.Join(r.stage, "gangrun"))
	if err != nil {
		return err
	}
	cache := strings.TrimSpace(output("go", "env", "GOMODCACHE"))
	var b bytes.Buffer
	for _, m := range info.Deps {
		dir := filepath.Join(cache, escaped(m.Path)+"@"+escaped(m.Version))
		found, err := licencesIn(dir)
		if err != nil {
			return err
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "=== %s %s: %s\n\n%s\n\n", m.Path, m.Version, filepath.Base(path), bytes.TrimSpace(text))
		}
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(output("go", "env", "GOROOT")), "LICENSE"))
	if err != nil {
		return err
	}
	fmt.Fprintf(&b, "=== Go %s: LICENSE\n\n%s\n", info.GoVersion, bytes.TrimSpace(text))
	return os.WriteFile(filepath.Join(r.stage, "LICENSES.third-party"), b.Bytes(), 0o644)
}

// licencesIn finds a module's licence, in its own directory or, for a module that is part of a repository, above it.
func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if !e.IsDir() && slices.ContainsFunc([]string{"LICENSE", "LICENCE", "NOTICE", "COPYING"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no licence in %s", dir)
	}
	return found, nil
}

// escaped is a path or version as the module cache writes it: capitals as ! and the small letter.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('!')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
