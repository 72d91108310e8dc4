package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// TestStoreFlags: what the store says has no flags, and what a person reads has the one that helps, which there is.
func TestStoreFlags(t *testing.T) {
	o := defaultOptions()
	var flags []string
	for _, s := range o.runSettings() {
		flags = append(flags, "--"+s.name)
	}
	known := " " + strings.Join(flags, " ") + " "
	for _, tt := range []struct {
		kind   error
		hosted bool
		want   string
	}{
		{store.ErrUnusable, true, "--store-dir"},
		{store.ErrDenied, true, "--store-token-file"},
		{store.ErrDenied, false, "--store-user-file, --store-password-file"},
		{store.ErrUnreachable, true, ""},
		{nil, true, ""},
	} {
		var err error
		if tt.kind != nil {
			err = fmt.Errorf("somewhere: %w", tt.kind)
		}
		got := withFlag(err, tt.hosted)
		if !errors.Is(got, tt.kind) {
			t.Errorf("%v is not %v", got, tt.kind)
		}
		if tt.want == "" {
			if got != err {
				t.Errorf("%v, want %v", got, err)
			}
			continue
		}
		if !strings.HasSuffix(got.Error(), " ("+tt.want+")") {
			t.Errorf("%v does not end with %s", got, tt.want)
		}
		for flag := range strings.SplitSeq(tt.want, ", ") {
			if !strings.Contains(known, " "+flag+" ") {
				t.Errorf("there is no %s", flag)
			}
		}
	}
}
