package rendezvous

// beginning is the job's record as it is written when a round begins: with that of the round, which has a key of its own,
// too. So whoever watches the job's record hears of both in one event, and need not watch the rounds.
type beginning struct {
	Job
	Past   []told `json:"past,omitempty"` // in place of History, and shorter
	Begins *Round `json:"begins,omitempty"`
}

// EncodeBeginning is the job's record as it is stored, with the round that begins with it; nil: none does. One that does not
// fit in is left out: who needs it has to read it. The error is that of Encode.
func EncodeBeginning(j *Job, r *Round) ([]byte, error) {
	both := beginning{Job: *j, Begins: r}
	both.shorten()
	if r != nil && r.V == j.V && r.Store == j.Store && r.RunUID == j.RunUID { // that need not be said twice
		short := *r
		short.V, short.Store, short.RunUID = 0, "", ""
		both.Begins = &short
	}
	b, err := Encode(&both)
	if err == nil && r != nil && len(b) > maxJobBytes {
		both.Begins = nil
		return Encode(&both)
	}
	return b, err
}

// ParseBeginning is ParseJob, and the round that begins with the record; nil: none does. Its errors are like those of ParseJob.
func ParseBeginning(key string, b []byte) (*Job, *Round, error) {
	both, err := parse(key, b, maxJobBytes, (*beginning).check)
	if err != nil {
		return nil, nil, err
	}
	both.understand()
	return &both.Job, both.Begins, nil
}

func (b *beginning) check() error {
	if err := b.lengthen(); err != nil {
		return err
	}
	if err := b.Job.check(); err != nil || b.Begins == nil {
		return err
	}
	if r := b.Begins; r.V == 0 && r.Store == "" && r.RunUID == "" {
		r.V, r.Store, r.RunUID = b.V, b.Store, b.RunUID
	}
	return b.Begins.check()
}
