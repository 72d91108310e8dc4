// Package environ reads and changes lists of environment entries, NAME=value.
package environ

import (
	"slices"
	"strings"
)

// Get is the value of a variable, as getenv(3) would find it in a program that is started with env, except that of several
// entries the last counts, as with os/exec; empty when there is none.
func Get(env []string, name string) string {
	value, _ := Lookup(env, name)
	return value
}

// Lookup is Get, and whether there is an entry.
func Lookup(env []string, name string) (value string, found bool) {
	for _, e := range slices.Backward(env) {
		if value, found := strings.CutPrefix(e, name+"="); found {
			return value, true
		}
	}
	return "", false
}

// Set puts the variable at the end of env, instead of any entry that it had. The list is changed in place where there is
// room.
func Set(env []string, name, value string) []string {
	return append(Unset(env, name), name+"="+value)
}

// Unset takes all entries of the variable out of env, which is changed in place.
func Unset(env []string, name string) []string {
	return slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}
