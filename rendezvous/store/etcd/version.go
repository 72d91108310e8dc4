package etcd

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// statusTime bounds how long one member is asked for its version.
const statusTime = 2 * time.Second

// askVersions finds out whether every member can be trusted to say how far a watch is. Of one that does not answer
// nothing is known, and it is not trusted.
func (s *Store) askVersions(ctx context.Context) {
	for _, endpoint := range s.access.endpoints {
		ask, stop := context.WithTimeout(ctx, min(statusTime, s.timeout))
		status, err := s.client.Status(ask, endpoint)
		stop()
		switch {
		case err != nil:
			s.suspect = true
			s.log.Debug("a member of the store does not report its version", "endpoint", endpoint, "error", err)
		case overtakes(status.Version):
			s.suspect = true
			s.log.Warn("this etcd may report a watch as up to date too early, so gangrun asks it in a slower way; 3.4.25, "+
				"3.5.8 and later need not be", "endpoint", endpoint, "version", status.Version)
			return
		}
	}
}

// overtakes reports whether the progress answers of a server of this version may overtake events: etcd's changelogs of
// 3.4.25 and 3.5.8, "Fix watch response traveling back in time" (etcd-io/etcd#15220). What is no version is not trusted.
func overtakes(version string) bool {
	var n [3]int
	release, _, _ := strings.Cut(version, "-")
	parts := strings.Split(release, ".")
	if len(parts) != len(n) {
		return true
	}
	for i, part := range parts {
		var err error
		if n[i], err = strconv.Atoi(part); err != nil {
			return true
		}
	}
	switch {
	case n[0] != 3:
		return n[0] < 3
	case n[1] == 4:
		return n[2] < 25
	case n[1] == 5:
		return n[2] < 8
	}
	return n[1] < 4
}
