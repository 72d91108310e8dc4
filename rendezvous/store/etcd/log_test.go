package etcd

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/zap"
)

func TestZap(t *testing.T) {
	var out bytes.Buffer
	log := Zap(slog.New(slog.NewTextHandler(&out, nil))).With(zap.String("member", "m0"))
	log.Debug("too little")
	log.Info("of interest to etcd's developers")
	log.Warn("slow", zap.Int("ms", 120))
	log.Error("failed to update storage version") // a new server, in every good run
	log.Error("gone", zap.Error(errors.New("why")))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2:\n%s", len(lines), out.String())
	}
	for i, want := range []string{
		`level=INFO msg="etcd: slow" member=m0 ms=120`, `level=WARN msg="etcd: gone" member=m0 error=why`,
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%s, want %s", lines[i], want)
		}
	}
	Zap(nil).Error("nowhere")
}
