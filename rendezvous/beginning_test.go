package rendezvous

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestBeginning: the record with which a round begins is the job's record to whoever knows no more, and has the round.
func TestBeginning(t *testing.T) {
	job, round := fullJob(), fullRound()
	b, err := EncodeBeginning(job, round)
	if err != nil {
		t.Fatal(err)
	}
	if j, err := ParseJob("job", b); err != nil || !reflect.DeepEqual(j, job) {
		t.Errorf("read as the job's record: %+v, %v", j, err)
	}
	if j, r, err := ParseBeginning("job", b); err != nil || !reflect.DeepEqual(j, job) || !reflect.DeepEqual(r, round) {
		t.Errorf("read back: %+v, %+v, %v", j, r, err)
	}
	alone, err := EncodeBeginning(job, nil)
	if err != nil {
		t.Fatal(err)
	}
	if j, r, err := ParseBeginning("job", alone); err != nil || r != nil || !reflect.DeepEqual(j, job) {
		t.Errorf("a record with which nothing begins: %+v, with %+v, %v", j, r, err)
	}
	spoiled := bytes.Replace(b, []byte(`"number":3`), []byte(`"number":-3`), 1)
	if _, _, err := ParseBeginning("job", spoiled); err == nil || !strings.HasPrefix(err.Error(), "job: ") {
		t.Errorf("a round that is none: %v", err)
	}
}

// TestBeginningTooLong: what would make the job's record longer than anybody reads is left out of it.
func TestBeginningTooLong(t *testing.T) {
	round := fullRound()
	for len(round.Members) < 1024 {
		round.Members = append(round.Members, Member{Name: strings.Repeat("n", maxName), Incarnation: "i", Slots: 1})
	}
	b, err := EncodeBeginning(fullJob(), round)
	if err != nil {
		t.Fatal(err)
	}
	if _, r, err := ParseBeginning("job", b); err != nil || r != nil {
		t.Errorf("%d bytes: %v, and a round: %v", len(b), err, r != nil)
	}
}

func FuzzParseBeginning(f *testing.F) {
	b, _ := EncodeBeginning(fullJob(), fullRound())
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		job, round, err := ParseBeginning("key", b)
		if err != nil {
			return
		}
		again, err := EncodeBeginning(job, round)
		if err != nil {
			t.Fatalf("cannot be written: %v", err)
		}
		job, round, err = ParseBeginning("key", again)
		if err != nil {
			t.Fatalf("cannot be read again: %v\n%s", err, again)
		}
		if third, _ := EncodeBeginning(job, round); !bytes.Equal(again, third) {
			t.Errorf("changes when it is read again:\n%s\n%s", again, third)
		}
	})
}
