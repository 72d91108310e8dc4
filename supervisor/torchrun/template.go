package torchrun

import "strings"

// Substitute fills a template as Python's string.Template.safe_substitute does: $name and ${name} become what value
// gives, $$ becomes $, and everything that is unknown or malformed stays as it is.
func Substitute(template string, value func(name string) (string, bool)) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(template, '$')
		if at < 0 {
			out.WriteString(template)
			return out.String()
		}
		out.WriteString(template[:at])
		template = template[at:]
		name, size := macro(template)
		text, known := "", false
		switch {
		case strings.HasPrefix(template, "$$"):
			text, known, size = "$", true, 2
		case name != "":
			text, known = value(name)
		}
		if !known {
			text = template[:size]
		}
		out.WriteString(text)
		template = template[size:]
	}
}

// macro is the name that a template begins with, and how long it is with its $ and braces; "" and 1 for none.
func macro(template string) (name string, size int) {
	rest := template[1:]
	braced := strings.HasPrefix(rest, "{")
	if braced {
		rest = rest[1:]
	}
	end := 0
	for end < len(rest) && partOfName(rest[end], end == 0) {
		end++
	}
	switch {
	case end == 0 || braced && !strings.HasPrefix(rest[end:], "}"):
		return "", 1
	case braced:
		return rest[:end], end + 3
	}
	return rest[:end], end + 1
}

// partOfName knows the names of Python's templates: ASCII letters in either case, digits and underscores.
func partOfName(c byte, first bool) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || !first && c >= '0' && c <= '9'
}
