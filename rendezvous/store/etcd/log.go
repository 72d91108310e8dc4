package etcd

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/grpclog"
)

// Zap makes a logger of slog's one of zap's, which is what etcd logs to. What etcd calls informative is of interest
// only to those who look into etcd: it comes a level lower.
func Zap(log *slog.Logger) *zap.Logger {
	quiet()
	if log == nil {
		return zap.NewNop()
	}
	return zap.New(&core{log: log})
}

// quiet keeps gRPC, whose logger is the process's, from writing to stderr on its own.
var quiet = sync.OnceFunc(func() {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
})

type core struct {
	log *slog.Logger
}

// level: a fatal one is logged here as an error; zap then ends the process.
func level(l zapcore.Level) slog.Level {
	switch {
	case l >= zapcore.ErrorLevel:
		return slog.LevelWarn
	case l == zapcore.WarnLevel:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// passing is what etcd calls an error and tries again by itself. A new server says it in every good run: its monitor
// writes the version of the storage, which only a downgrade needs, before the first term is on the disk.
const passing = "failed to update storage version"

func levelOf(e zapcore.Entry) slog.Level {
	if e.Message == passing {
		return slog.LevelDebug
	}
	return level(e.Level)
}

func (c *core) Enabled(l zapcore.Level) bool { return c.log.Enabled(context.Background(), level(l)) }

func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{log: c.log.With(attrs(fields)...)}
}

func (c *core) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	c.log.Log(context.Background(), levelOf(e), "etcd: "+e.Message, attrs(fields)...)
	return nil
}

func (c *core) Sync() error { return nil }

func attrs(fields []zapcore.Field) []any {
	enc := zapcore.NewMapObjectEncoder()
	var out []any
	for _, f := range fields {
		f.AddTo(enc)
		if value, ok := enc.Fields[f.Key]; ok {
			out = append(out, slog.Any(f.Key, value))
		}
	}
	return out
}
