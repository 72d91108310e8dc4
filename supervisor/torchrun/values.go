package torchrun

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// FlagError is a flag or a variable whose value cannot be. It is one line.
type FlagError struct {
	Source string // where it came from: --max-restarts or PET_MAX_RESTARTS
	Reason string // what is wrong, and what would be right
}

// Error names where it came from, and then the reason.
func (e *FlagError) Error() string { return e.Source + ": " + e.Reason }

func wrong(source, format string, args ...any) error {
	return &FlagError{Source: source, Reason: fmt.Sprintf(format, args...)}
}

// trim removes what Python's str.strip removes, in ASCII.
func trim(s string) string { return strings.Trim(s, " \t\n\v\f\r\x1c\x1d\x1e\x1f") }

// digits removes the underscores that Python allows between two digits, and refuses others.
func digits(s string) (string, bool) {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	for i := range len(s) {
		if s[i] == '_' && (!digit(i-1) || !digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

// number reads a whole number as Python's int does: space around it, a sign, underscores between digits.
func number(s string) (int, error) {
	text, ok := digits(trim(s))
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return n, nil
}

// decimal reads a number as Python's float does, which knows no hexadecimal form.
func decimal(s string) (float64, error) {
	text, ok := digits(trim(s))
	if !ok || strings.ContainsAny(text, "xXpP") {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return x, nil
}

// list splits at single commas; two commas are one that belongs to an item.
func list(s string) []string {
	const comma = "\x00" // in no argument and in no variable
	items := strings.Split(strings.ReplaceAll(s, ",,", comma), ",")
	for i := range items {
		items[i] = strings.ReplaceAll(items[i], comma, ",")
	}
	return items
}

// valid refuses a value that its flag's kind or choices do not allow. torchrun checks the choices of flags only; here
// a variable's value is held to them too, since a wrong one would be ignored otherwise.
func (f Flag) valid(value string) error {
	var err error
	switch f.Kind {
	case Int:
		_, err = number(value)
	case Float:
		_, err = decimal(value)
	default:
		for i, choice := range f.Choices {
			if value == choice {
				break
			}
			if i == len(f.Choices)-1 {
				err = fmt.Errorf("%q is not one of %s", value, strings.Join(f.Choices, ", "))
			}
		}
	}
	return err
}
