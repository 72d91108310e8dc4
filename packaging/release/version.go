package main

import (
	"fmt"
	"regexp"
)

// Version is one version in the words of those who sort versions.
type Version struct {
	Given   string // what gangrun version says
	Package string // by PEP 440, which debs and rpms sort right, too
}

var (
	tagged    = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(?:-(rc|beta|alpha)\.?(\d+))?(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)
	untagged  = regexp.MustCompile(`^([0-9a-f]{7,40})(-dirty)?$`)
	candidate = map[string]string{"rc": "rc", "beta": "b", "alpha": "a"}
)

// ParseVersion reads a tag such as v1.2.3 or v1.2.3-rc.1, or what git describe makes of one, or of a commit without any.
func ParseVersion(text string) (Version, error) {
	v := Version{Given: text}
	local := func(commit, dirty string) string {
		if dirty != "" {
			dirty = ".dirty"
		}
		return "+g" + commit + dirty
	}
	if m := untagged.FindStringSubmatch(text); m != nil {
		v.Package = "0.0.0" + local(m[1], m[2])
		return v, nil
	}
	m := tagged.FindStringSubmatch(text)
	if m == nil {
		return v, fmt.Errorf("version %q: want v1.2.3, v1.2.3-rc.1, or what git describe --tags --always says", text)
	}
	v.Package = m[1]
	if m[2] != "" {
		v.Package += candidate[m[2]] + m[3]
	}
	switch {
	case m[4] != "":
		v.Package += ".post" + m[4] + local(m[5], m[6])
	case m[6] != "":
		v.Package += "+dirty"
	}
	return v, nil
}
