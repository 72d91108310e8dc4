package store

// With is this update and a later one of the same watch in one: what a reader knows after both. Of what is in between
// it sees no more than what was there on another lease, in Passed: for who counts silence, a key that has come and
// gone was there. Of two stores nothing can be told together.
func (u Update) With(later Update) (both Update, ok bool) {
	if later.Reset {
		return later, true
	}
	if u.Token != later.Token {
		return Update{}, false
	}
	newer := make(map[string]KV, len(later.Changed)+len(later.Deleted))
	for _, kv := range later.Changed {
		newer[kv.Key] = kv
	}
	for _, d := range later.Deleted {
		newer[d.Key] = KV{}
	}
	both = Update{Reset: u.Reset, Rev: later.Rev, Token: u.Token, Passed: u.Passed}
	for _, kv := range u.Changed {
		switch next, superseded := newer[kv.Key]; {
		case !superseded:
			both.Changed = append(both.Changed, kv)
		case next.Key == "" || next.Lease != kv.Lease:
			both.Passed = append(both.Passed, kv)
		}
	}
	both.Passed = append(both.Passed, later.Passed...)
	both.Changed = append(both.Changed, later.Changed...)
	if u.Reset { // what it does not show is not there
		return both, true
	}
	for _, d := range u.Deleted {
		if _, superseded := newer[d.Key]; !superseded {
			both.Deleted = append(both.Deleted, d)
		}
	}
	both.Deleted = append(both.Deleted, later.Deleted...)
	return both, true
}
