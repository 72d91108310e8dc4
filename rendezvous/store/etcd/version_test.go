package etcd

import "testing"

func TestOvertakes(t *testing.T) {
	for version, want := range map[string]bool{
		"3.3.27": true, "3.4.23": true, "3.4.24": true, "3.4.25": false, "3.4.34": false, "3.5.0": true, "3.5.7": true,
		"3.5.8": false, "3.5.21": false, "3.6.0": false, "3.6.0-rc.1": false, "3.5.7-patched": true, "3.7.3": false,
		"4.0.0": false, "2.3.8": true, "": true, "3.6": true, "not a version": true, "3.x.1": true,
	} {
		if got := overtakes(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}
