package torchrun

import (
	"strings"
)

// Own tells of the flags that may stand beside torchrun's before the script, by their name without dashes.
type Own func(name string) (takesValue, known bool)

// OwnFlag is a flag that [Own] knows, as it was given. A flag that takes no value has "true" unless it was given one,
// as in --quiet=false.
type OwnFlag struct{ Name, Value string }

// UnknownFlagError is a flag that neither torchrun nor [Own] knows.
type UnknownFlagError struct{ Flag string }

// Error names the flag.
func (e *UnknownFlagError) Error() string { return "unknown flag " + e.Flag }

// words is a command line taken apart, before its values are read.
type words struct {
	values      map[string]string // of the flags that were given, by name
	given       map[string]string // how each was written: "--nproc_per_node", "-r" or "PET_NNODES"
	own         []OwnFlag
	help        bool
	completion  string
	script      string
	args        []string
	scriptIndex int
	insertAt    int
	noScript    bool
}

// reader walks through the arguments before the script.
type reader struct {
	args  []string
	at    int
	flags map[string]Flag // by every spelling
	long  []string        // the long spellings in order
	own   Own
	out   words
}

// split takes a command line apart as Python's argparse does, with these differences. A prefix that fits the two
// spellings of one flag is that flag (argparse calls --nproc ambiguous). What stands after the script is never
// read (argparse of 3.11 finds ambiguous prefixes there too). --help is answered whatever the variables hold.
func split(args []string, own Own) (words, error) {
	r := reader{args: args, own: own, flags: map[string]Flag{}}
	r.out = words{values: map[string]string{}, given: map[string]string{}, scriptIndex: len(args), insertAt: len(args)}
	for _, f := range Flags() {
		for _, spelling := range f.Spellings() {
			r.flags[spelling] = f
			if strings.HasPrefix(spelling, "--") {
				r.long = append(r.long, spelling)
			}
		}
	}
	err := r.read()
	return r.out, err
}

func (r *reader) read() error {
	var unknown error // told last: argparse answers --help and refuses wrong values before it
	for r.at < len(r.args) {
		arg := r.args[r.at]
		if arg == "--" {
			break
		}
		found, err := r.find(arg)
		if err != nil {
			return err
		}
		switch {
		case found.positional:
		case found.unknown:
			if unknown == nil {
				unknown = &UnknownFlagError{Flag: found.spelling}
			}
			r.at++
			continue
		default:
			r.at++
			if err := r.take(found); err != nil || r.out.help || r.out.completion != "" {
				return err
			}
			continue
		}
		break
	}
	if unknown != nil {
		return unknown
	}
	r.script()
	return nil
}

// script takes the script and its arguments. One "--" goes, before the script or right behind it, as in argparse.
func (r *reader) script() {
	r.out.insertAt = r.at
	dashes := r.at < len(r.args) && r.args[r.at] == "--"
	if dashes {
		r.at++
	}
	if r.at == len(r.args) {
		r.out.noScript = true
		return
	}
	r.out.script, r.out.scriptIndex = r.args[r.at], r.at
	rest := r.args[r.at+1:]
	if !dashes && len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	r.out.args = append([]string{}, rest...)
}

// finding is what one argument turned out to be: a flag of torchrun's, a foreign one, an unknown one, or no flag.
type finding struct {
	flag       Flag
	spelling   string // as it was written, or what its prefix stands for
	value      string
	hasValue   bool // the value came along: --role=x, -r3
	foreign    bool
	takesValue bool // of a foreign flag
	unknown    bool
	positional bool
}

// find tells what an argument is, in argparse's order: an exact flag, a foreign one, a prefix, a short flag with its
// value; else it is no flag when it looks like a negative number or contains a space.
func (r *reader) find(arg string) (finding, error) {
	if len(arg) < 2 || arg[0] != '-' {
		return finding{positional: true}, nil
	}
	name, value, hasValue := strings.Cut(arg, "=")
	if f, ok := r.flags[arg]; ok {
		return finding{flag: f, spelling: arg}, nil
	}
	if f, ok := r.flags[name]; ok && hasValue {
		return finding{flag: f, spelling: name, value: value, hasValue: true}, nil
	}
	if arg[1] != '-' {
		if f, ok := r.flags[arg[:2]]; ok {
			return finding{flag: f, spelling: arg[:2], value: arg[2:], hasValue: true}, nil
		}
	} else {
		if r.own != nil {
			if takes, known := r.own(name[2:]); known {
				return finding{spelling: name, value: value, hasValue: hasValue, foreign: true, takesValue: takes}, nil
			}
		}
		if found, err := r.prefix(name); err != nil || found.spelling != "" {
			found.value, found.hasValue = value, hasValue
			return found, err
		}
	}
	if negativeNumber(arg) || strings.Contains(arg, " ") {
		return finding{positional: true}, nil
	}
	return finding{spelling: name, unknown: true}, nil
}

// negativeNumber knows -3, -.5 and -1.5, and not -1. or -1e3.
func negativeNumber(arg string) bool {
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(arg, "-"), ".")
	if dotted {
		return onlyDigits(fraction) && (whole == "" || onlyDigits(whole))
	}
	return onlyDigits(whole)
}

func (r *reader) prefix(name string) (finding, error) {
	var found finding
	var fits []string
	for _, spelling := range r.long {
		if !strings.HasPrefix(spelling, name) {
			continue
		}
		if f := r.flags[spelling]; found.spelling == "" || f.Name != found.flag.Name {
			found = finding{flag: f, spelling: spelling}
			fits = append(fits, spelling)
		}
	}
	if len(fits) > 1 {
		return finding{}, wrong(name, "is the beginning of several flags: %s", strings.Join(fits, ", "))
	}
	return found, nil
}

// take stores a flag and its value.
func (r *reader) take(found finding) error {
	if found.foreign {
		return r.takeOwn(found)
	}
	f := found.flag
	if f.Kind == Switch {
		return r.takeSwitch(found)
	}
	value := found.value
	if !found.hasValue {
		next, ok := r.next()
		if !ok {
			return wrong(found.spelling, "needs a value (%s); one that begins with - is given as %s=VALUE", f.Hint, "--"+f.Name)
		}
		value = next
	}
	if err := f.valid(value); err != nil {
		return wrong(found.spelling, "%v", err)
	}
	if f.Name == "print-completion" {
		r.out.completion = value
		return nil
	}
	r.out.values[f.Name], r.out.given[f.Name] = value, found.spelling
	return nil
}

// takeSwitch also takes the short flags that are written behind a short switch: -mr3.
func (r *reader) takeSwitch(found finding) error {
	short := len(found.spelling) == 2
	if found.hasValue && (!short || found.value == "") {
		return wrong(found.spelling, "takes no value, and %q was given", found.value)
	}
	var next finding
	if found.hasValue {
		f, ok := r.flags["-"+found.value[:1]]
		if !ok {
			return wrong(found.spelling, "takes no value, and %q was given", found.value)
		}
		rest := found.value[1:]
		next = finding{flag: f, spelling: "-" + found.value[:1], value: rest, hasValue: rest != ""}
	}
	if found.flag.Name == "help" {
		r.out.help = true
		return nil
	}
	r.out.values[found.flag.Name], r.out.given[found.flag.Name] = "1", found.spelling
	if found.hasValue {
		return r.take(next)
	}
	return nil
}

func (r *reader) takeOwn(found finding) error {
	if !found.hasValue {
		found.value = "true"
		if found.takesValue {
			next, ok := r.next()
			if !ok {
				return wrong(found.spelling, "needs a value; one that begins with - is given as %s=VALUE", found.spelling)
			}
			found.value = next
		}
	}
	r.out.own = append(r.out.own, OwnFlag{Name: found.spelling[2:], Value: found.value})
	return nil
}

// next is the next argument if it may be a value: not a flag, known or not, and not "--".
func (r *reader) next() (string, bool) {
	if r.at == len(r.args) || r.args[r.at] == "--" {
		return "", false
	}
	if found, err := r.find(r.args[r.at]); err != nil || !found.positional {
		return "", false
	}
	r.at++
	return r.args[r.at-1], true
}

// variables adds the values of the PET_ variables of flags that were not given. A switch's variable must be a number
// even beside its flag, as in torchrun.
func (w *words) variables(lookup func(string) (string, bool)) error {
	for _, f := range Flags() {
		value, ok := "", false
		if f.Variable != "" {
			value, ok = lookup(f.Variable)
		}
		if !ok {
			continue
		}
		if f.Kind == Switch {
			n, err := number(value)
			if err != nil {
				return wrong(f.Variable, "%v; 1 is on and 0 is off", err)
			}
			value = "1"
			if n == 0 {
				value = "0"
			}
		}
		if _, given := w.given[f.Name]; given {
			continue
		}
		if err := f.valid(value); err != nil {
			return wrong(f.Variable, "%v", err)
		}
		w.values[f.Name], w.given[f.Name] = value, f.Variable
	}
	return nil
}
