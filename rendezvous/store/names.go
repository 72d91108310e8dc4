package store

import (
	"fmt"
	"strings"
)

// root is where everything of gangrun is in a store that others may use too; v1 is the version of the layout.
const root = "/gangrun/v1/"

// maxName is the longest namespace or job name, in bytes: that of a Kubernetes name.
const maxName = 253

// Prefix returns the prefix of all keys of a job, /gangrun/v1/<namespace>/<job>/, with both names escaped. It fails where a
// name is empty or longer than 253 bytes.
func Prefix(namespace, job string) (string, error) {
	for _, name := range []struct{ what, value string }{{"namespace", namespace}, {"job name", job}} {
		switch {
		case name.value == "":
			return "", fmt.Errorf("the %s is empty: the store needs one", name.what)
		case len(name.value) > maxName:
			return "", fmt.Errorf("the %s has %d bytes, at most %d are allowed: %.40q…", name.what, len(name.value), maxName,
				name.value)
		}
	}
	return root + Escape(namespace) + "/" + Escape(job) + "/", nil
}

// NamespacePrefix returns the prefix of all keys of a namespace's jobs. It fails as Prefix does.
func NamespacePrefix(namespace string) (string, error) {
	prefix, err := Prefix(namespace, "any")
	return strings.TrimSuffix(prefix, "any/"), err
}

// Escape makes a name fit to be one part of a key: bytes other than letters, digits, '.', '_' and '-' become %XX.
// Different names stay different.
func Escape(name string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// Unescape is the inverse of Escape. Anything that Escape does not write is an error.
func Unescape(part string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		c := part[i]
		if c == '%' && i+2 < len(part) {
			hi, lo := digit(part[i+1]), digit(part[i+2])
			if hi >= 0 && lo >= 0 && !plain(byte(hi<<4|lo)) {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		if !plain(c) {
			return "", fmt.Errorf("%.80q is not a part of a key: unexpected %q at byte %d", part, c, i)
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// IsPrefix says whether a selector stands for all keys below it, and not for one key.
func IsPrefix(selector string) bool { return selector == "" || strings.HasSuffix(selector, "/") }

// Selects says whether a selector stands for a key.
func Selects(selector, key string) bool {
	if IsPrefix(selector) {
		return strings.HasPrefix(key, selector)
	}
	return key == selector
}
