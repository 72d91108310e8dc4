package exitcodes

import "strings"

// interrupted is the answer to a signal from outside that Python turned into an exception.
func interrupted(name string) family {
	f := family{name: "family.interrupt", verdict: Preempted, role: RoleRoot, reason: ReasonPreempted}
	switch name {
	case "KeyboardInterrupt":
		f.signal = sigint
	case "SIGTERMException", "SigTermException", "SigtermException":
		f.signal = sigterm
	default:
		return family{}
	}
	return f
}

// logicErrors are raised by what a program does wrong itself. What they quote explains nothing.
var logicErrors = set("TypeError", "NameError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError",
	"AttributeError", "IndexError", "KeyError", "ZeroDivisionError", "NotImplementedError", "RecursionError",
	"AssertionError", "UnicodeDecodeError", "UnicodeEncodeError", "StopIteration", "ModuleNotFoundError",
	"NumberFormatException", "NullPointerException", "ClassCastException", "ArrayIndexOutOfBoundsException", "IndexOutOfBoundsException", "StringIndexOutOfBoundsException", "NegativeArraySizeException",
	"JSONDecodeError", "ValidationError", "ArgumentError", "FrozenInstanceError", "MissingSchema", "InvalidSchema", "InvalidURL")

// ownErrors are mostly raised by a program about its own input. Only a message that names the condition plainly tells
// that it is something else.
var ownErrors = set("ValueError", "LookupError", "ArithmeticError", "OverflowError", "FloatingPointError", "SystemExit")

// programs reports whether the class speaks about the program itself, so that other lines do not explain it.
func programs(class string) bool {
	name := class[strings.LastIndexByte(class, '.')+1:]
	return isLogicError(name) || ownErrors[name]
}

// passesOnBug reports whether an exception tells of another process's that is one of logicErrors: Spark's of a task that failed.
func passesOnBug(class string, message []byte) bool {
	if lastName(class) != "SparkException" {
		return false
	}
	inner, _, ok := wrapped(message[:min(len(message), maxMessageText)])
	return ok && isLogicError(lastName(inner))
}

// isLogicError reports whether the name is one of logicErrors, or a warning that was made an error.
func isLogicError(name string) bool { return logicErrors[name] || strings.HasSuffix(name, "Warning") }

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// unquoted is a text without what stands in quotes in it. An apostrophe within a word is none.
func unquoted(text []byte) []byte {
	word := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] >= 'a' && text[i] <= 'z' || text[i] >= '0' && text[i] <= '9')
	}
	out, open := make([]byte, 0, len(text)), byte(0)
	for i, c := range text {
		switch {
		case open == 0 && (c == '\'' || c == '"') && !word(i-1):
			open = c
		case c == open && !word(i+1):
			open = 0
		case open == 0:
			out = append(out, c)
		}
	}
	return out
}
