package rendezvous

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestPastStopsAreShort: the stops that a record remembers are what makes it longest, and every node is sent it three
// times in a restart. Nothing of them is lost.
func TestPastStopsAreShort(t *testing.T) {
	job := fullJob()
	at := time.Date(2026, 2, 3, 4, 5, 6, 123456789, time.UTC)
	job.Stop.At = at
	without, err := EncodeBeginning(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	job.History = nil
	for round := range newHistory - 1 {
		job.History = append(job.History, Past{
			Round: 10 + round, Kind: StopFailure, Node: "trainer-0001", Reason: "KilledBySIGKILL",
			At: at.Add(-time.Hour).Truncate(time.Millisecond),
		})
	}
	job.History = append(job.History, job.Stop.past())
	b, err := EncodeBeginning(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	const most = 80 // of one, with names and a reason as long as these
	if each := (len(b) - len(without)) / len(job.History); each > most {
		t.Errorf("%d bytes for each stop, want at most %d: %s", each, most, b)
	}
	if j, err := ParseJob("job", b); err != nil || !reflect.DeepEqual(j.History, job.History) {
		t.Errorf("read back: %+v, %v", j, err)
	}
}

// TestPastStopsOfOthers: a record as an earlier release has written it, and what nobody can have written.
func TestPastStopsOfOthers(t *testing.T) {
	job := fullJob()
	earlier, err := Encode(job)
	if err != nil {
		t.Fatal(err)
	}
	if j, err := ParseJob("job", earlier); err != nil || !reflect.DeepEqual(j.History, job.History) {
		t.Errorf("an earlier release's: %+v, %v", j, err)
	}
	now, err := EncodeBeginning(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	const list = `"past":[[3]]`
	if !strings.Contains(string(now), list) {
		t.Fatalf("%s, want %s: Stop says the rest", now, list)
	}
	for name, tc := range map[string]struct{ list, want string }{
		"a stop that is none":     {`"past":[[4]]`, "nothing tells why round 4 stopped"},
		"too few":                 {`"past":[[3,"failure"]]`, "2 fields"},
		"too many":                {`"past":[[3,"failure","b","OOMKilled","2026-02-03T04:05:06Z",1]]`, "6 fields"},
		"none":                    {`"past":[[]]`, "0 fields"},
		"not a list":              {`"past":[{"round":3}]`, "a past stop"},
		"of other kinds":          {`"past":[[3,1,2,3,4]]`, "a past stop"},
		"more than anybody reads": {`"past":[` + strings.TrimSuffix(strings.Repeat(`[3],`, maxHistory+1), ",") + `]`, "17 history"},
	} {
		_, err := ParseJob("job", []byte(strings.Replace(string(now), list, tc.list, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), "job: ") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
