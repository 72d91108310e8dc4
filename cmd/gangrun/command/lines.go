package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/internal/words"
)

// lines is gangrun's own log for people: a short line for each record, without a time, coloured where that is of use.
type lines struct {
	w      io.Writer
	mu     *sync.Mutex
	level  slog.Leveler
	colour bool
	with   []slog.Attr
}

func newLines(w io.Writer, level slog.Leveler, colour bool) *lines {
	return &lines{w: w, mu: &sync.Mutex{}, level: level, colour: colour}
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level.Level() }

func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *l
	with.with = append(l.with[:len(l.with):len(l.with)], attrs...)
	return &with
}

// WithGroup keeps the names as they are: no record here has the same name twice.
func (l *lines) WithGroup(string) slog.Handler { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	attrs := l.with[:len(l.with):len(l.with)]
	r.Attrs(func(a slog.Attr) bool { attrs = append(attrs, a); return true })
	var b bytes.Buffer
	b.WriteString(l.paint(levelColour(r.Level), "gangrun:") + " ")
	if name := levelName(r.Level); name != "" {
		b.WriteString(l.paint(levelColour(r.Level), name) + " ")
	}
	b.WriteString(plain.Text(r.Message))
	if more := details(r.Message, attrs); more != "" {
		b.WriteString(" " + l.paint(faint, plain.Text("("+more+")")))
	}
	b.WriteByte('\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(b.Bytes())
	return err
}

// details are the attributes in a person's words: what the message has said is left out.
func details(message string, attrs []slog.Attr) string {
	values := map[string]string{}
	for _, a := range attrs {
		values[a.Key] = a.Value.Resolve().String()
	}
	var list []string
	for _, a := range attrs {
		value := values[a.Key]
		switch {
		case a.Key == "evidence" && strings.Contains(message, value), value == "":
		case a.Key == "max" && values["used"] != "", a.Key == "reason" && values["verdict"] != "":
		case a.Key == "verdict" && values["reason"] != "":
			list = append(list, value+": "+values["reason"])
		case a.Key == "used" && values["max"] != "":
			list = append(list, fmt.Sprintf("%s of %s restarts used", value, values["max"]))
		case a.Key == "after" && value == "0s":
		case a.Key == "err" || a.Key == "why" || a.Key == "evidence":
			list = append(list, value)
		default:
			list = append(list, strings.ReplaceAll(a.Key, "_", " ")+" "+value)
		}
	}
	return strings.Join(list, ", ")
}

// The colours, which are readable on black and on white.
const (
	faint    = "2"
	alarming = "1;31"
	doubtful = "33"
	calm     = "36"
)

func levelColour(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return alarming
	case level >= slog.LevelWarn:
		return doubtful
	}
	return calm
}

// levelName is what tells the levels apart where there are no colours.
func levelName(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "error:"
	case level >= slog.LevelWarn:
		return "warning:"
	}
	return ""
}

func (l *lines) paint(colour, text string) string {
	if !l.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// once leaves out evidence that the message has said already.
type once struct{ slog.Handler }

func (h once) Handle(ctx context.Context, r slog.Record) error {
	said := false
	r.Attrs(func(a slog.Attr) bool {
		said = a.Key == "evidence" && strings.Contains(r.Message, a.Value.String())
		return !said
	})
	if !said {
		return h.Handler.Handle(ctx, r)
	}
	return h.Handler.Handle(ctx, without("evidence", r))
}

func (h once) WithAttrs(attrs []slog.Attr) slog.Handler { return once{h.Handler.WithAttrs(attrs)} }
func (h once) WithGroup(name string) slog.Handler       { return once{h.Handler.WithGroup(name)} }

// without is the record less an attribute.
func without(key string, r slog.Record) slog.Record {
	short := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != key {
			short.AddAttrs(a)
		}
		return true
	})
	return short
}

// flagged adds the flag of the setting that a line is about.
type flagged struct{ slog.Handler }

// settingFlags are the flags of settings that lines of the log are about, and what they would do where that helps.
var settingFlags = map[words.Setting]string{
	words.SettingHang:         "--hang act ends what hangs",
	words.SettingRestartGrace: "--restart-grace",
	words.SettingUnknown:      "--unknown",
	words.SettingQuarantine:   "--checkpoint-quarantine moves it aside",
	words.SettingLogDir:       "--log-dir has to name a directory that can be written",
	words.SettingTrainJob:     "--trainjob-progress off ends them",
}

func (h flagged) Handle(ctx context.Context, r slog.Record) error {
	flag, key := "", ""
	r.Attrs(func(a slog.Attr) bool {
		if s, is := a.Value.Any().(words.Setting); is {
			flag, key = settingFlags[s], a.Key
		}
		return flag == ""
	})
	if flag == "" {
		return h.Handler.Handle(ctx, r)
	}
	r = without(key, r)
	r.Message += " (" + flag + ")"
	return h.Handler.Handle(ctx, r)
}

func (h flagged) WithAttrs(attrs []slog.Attr) slog.Handler {
	return flagged{h.Handler.WithAttrs(attrs)}
}
func (h flagged) WithGroup(name string) slog.Handler { return flagged{h.Handler.WithGroup(name)} }
