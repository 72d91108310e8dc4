package exitcodes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// record is a line of a log in JSON.
type record struct {
	level level
	at    time.Time
	parts []string // the message, the traceback
}

var (
	messageKeys   = []string{"msg", "message", "event", "text", "textPayload", "log"}
	exceptionKeys = []string{"exc", "exc_info", "exc_text", "exception", "traceback", "stack", "stack_trace", "stacktrace", "error", "err"}
	levelKeys     = []string{"level", "levelname", "severity", "lvl", "log.level"}
	timeKeys      = []string{"time", "ts", "timestamp", "asctime", "@timestamp"}
)

// jsonRecord reads a record that a logger or a container runtime wrote; nil for anything else, such as metrics in JSON.
func jsonRecord(text []byte, m *meter) *record {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return nil
	}
	if !m.afford(3, len(text)) {
		return nil
	}
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	if payload, ok := fields["jsonPayload"].(map[string]any); ok { // a cloud's, around what the program logged
		maps.Copy(fields, payload)
	}
	r := &record{}
	for _, k := range levelKeys {
		if s, ok := fields[k].(string); ok {
			r.level = levelWord(s)
		}
	}
	for _, k := range timeKeys {
		if s, ok := fields[k].(string); ok && looksLikeTime(s) {
			r.at = parseTime(s)
		}
	}
	stream, _ := fields["stream"].(string)
	known := false // by what only a log has
	for _, k := range slices.Concat(messageKeys, exceptionKeys) {
		switch v := fields[k].(type) {
		case string:
			r.parts = append(r.parts, v)
		case []any:
			if text := stackText(v); text != "" {
				r.parts, known = append(r.parts, text), true
			}
		case map[string]any: // structlog's and zerolog's nested errors, torch's records
			if extra, ok := v["extraInfo"].(map[string]any); ok {
				v["stack"] = extra["py_callstack"]
			}
			for _, inner := range slices.Concat(messageKeys, exceptionKeys) {
				if s, ok := v[inner].(string); ok {
					r.parts = append(r.parts, s)
				}
			}
		}
	}
	if len(r.parts) == 0 || r.level == levelNone && r.at.IsZero() && stream == "" && !known && !strings.Contains(strings.Join(r.parts, ""), traceback) {
		return nil
	}
	return r
}

// stackText writes the exceptions that structlog tells as a list, the last one first, as Python prints them.
func stackText(stacks []any) string {
	var b strings.Builder
	for i := len(stacks) - 1; i >= 0; i-- {
		stack, _ := stacks[i].(map[string]any)
		class, _ := stack["exc_type"].(string)
		if class == "" {
			return ""
		}
		b.WriteString(traceback + "\n")
		frames, _ := stack["frames"].([]any)
		for _, f := range frames[:min(len(frames), 2)] { // where it begins tells whether it was caught
			frame, _ := f.(map[string]any)
			fmt.Fprintf(&b, "  File \"%v\", line %v, in %v\n", frame["filename"], frame["lineno"], frame["name"])
		}
		fmt.Fprintf(&b, "%s: %v\n", class, stack["exc_value"])
		if cause, _ := stack["is_cause"].(bool); i > 0 && cause {
			b.WriteString("\n" + chainedCause + ":\n\n")
		} else if i > 0 {
			b.WriteString("\n" + chainedContext + ":\n\n")
		}
	}
	return b.String()
}

// expand appends the record's lines.
func (r *record) expand(lines []line, from line, labels bool, m *meter) []line {
	if from.clock.IsZero() {
		from.clock = r.at
	}
	n := 0
	for i, part := range r.parts {
		for text := range strings.Lines(part) {
			if n++; n > maxExpand {
				return lines
			}
			l := line{number: from.number, offset: from.offset, raw: []byte(strings.TrimRight(text, "\r\n")), tag: from.tag, clock: from.clock}
			l.logged = n == 1 && i == 0 && len(r.parts) > 1
			at := len(lines)
			m.pass(2, len(l.raw))
			if lines = tokenizePlain(lines, l, labels, m); r.level != levelNone && lines[at].level == levelNone && n == 1 {
				lines[at].level = r.level
			}
		}
	}
	return lines
}

// tokenizePlain is tokenize for a text that is not taken for JSON again.
func tokenizePlain(lines []line, l line, labels bool, m *meter) []line {
	if bytes.HasPrefix(bytes.TrimSpace(l.raw), []byte("{")) {
		l.text = clipped(l.raw)
		return append(lines, l)
	}
	return tokenize(lines, l, labels, m)
}
