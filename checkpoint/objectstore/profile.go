package objectstore

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

const maxProfiles = 1 << 20

// profile is a section of ~/.aws/credentials and ~/.aws/config.
type profile struct {
	name   string
	values map[string]string
}

// readProfile reads the profile that AWS_PROFILE names, from both files. The credentials file counts more.
func readProfile(getenv func(string) string) (profile, error) {
	named := cmp.Or(getenv("AWS_PROFILE"), getenv("AWS_DEFAULT_PROFILE"))
	p := profile{cmp.Or(named, "default"), make(map[string]string)}
	home := getenv("HOME")
	found := false
	inConfig := []string{"profile " + p.name}
	if p.name == "default" {
		inConfig = []string{"default", "profile default"}
	}
	for _, file := range []struct {
		path, byDefault string
		sections        []string
	}{
		{getenv("AWS_CONFIG_FILE"), "config", inConfig},
		{getenv("AWS_SHARED_CREDENTIALS_FILE"), "credentials", []string{p.name}},
	} {
		path := file.path
		if path == "" {
			if home == "" {
				continue
			}
			path = filepath.Join(home, ".aws", file.byDefault)
		}
		sections, err := readSections(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return profile{}, err
		}
		for _, name := range file.sections {
			if values, ok := sections[name]; ok {
				found = true
				maps.Copy(p.values, values)
			}
		}
	}
	if named != "" && !found {
		return profile{}, fmt.Errorf("AWS_PROFILE is %q, and neither ~/.aws/credentials nor ~/.aws/config has it", named)
	}
	return p, nil
}

func readSections(path string) (map[string]map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	sections, err := parseSections(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sections, nil
}

// parseSections reads the files of AWS's programs, docs.aws.amazon.com/sdkref/latest/guide/file-format.html: sections of
// "key = value", comments after # or ;, and nested settings on indented lines, which nothing here needs. An error names
// the line, and does not repeat it: it may be a key.
func parseSections(r io.Reader) (map[string]map[string]string, error) {
	sections := make(map[string]map[string]string)
	var section map[string]string
	scan := bufio.NewScanner(io.LimitReader(r, maxProfiles))
	scan.Buffer(nil, 64<<10)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimRight(strings.TrimPrefix(scan.Text(), "\ufeff"), " \t\r")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';' || line[0] == ' ' || line[0] == '\t':
			continue
		case line[0] == '[':
			name, _, ok := strings.Cut(line[1:], "]")
			if !ok {
				return nil, fmt.Errorf("line %d begins a section and does not end its name", n)
			}
			name = strings.Join(strings.Fields(name), " ")
			if section = sections[name]; section == nil {
				section = make(map[string]string)
				sections[name] = section
			}
		default:
			key, value, ok := strings.Cut(line, "=")
			if !ok {
				return nil, fmt.Errorf("line %d is not one of [section], key = value and a comment", n)
			}
			for _, mark := range []string{" #", " ;", "\t#", "\t;"} {
				value, _, _ = strings.Cut(value, mark)
			}
			if section != nil {
				section[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
			}
		}
	}
	return sections, scan.Err()
}
