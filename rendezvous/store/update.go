package store

// With is this update and a later one of the same watch in one: what a reader knows after both. What is in between it
// does not see. Of two stores nothing can be told together.
func (u Update) With(later Update) (both Update, ok bool) {
	if later.Reset {
		return later, true
	}
	if u.Token != later.Token {
		return Update{}, false
	}
	newer := make(map[string]bool, len(later.Changed)+len(later.Deleted))
	for _, kv := range later.Changed {
		newer[kv.Key] = true
	}
	for _, d := range later.Deleted {
		newer[d.Key] = true
	}
	both = Update{Reset: u.Reset, Rev: later.Rev, Token: u.Token}
	for _, kv := range u.Changed {
		if !newer[kv.Key] {
			both.Changed = append(both.Changed, kv)
		}
	}
	both.Changed = append(both.Changed, later.Changed...)
	if u.Reset { // what it does not show is not there
		return both, true
	}
	for _, d := range u.Deleted {
		if !newer[d.Key] {
			both.Deleted = append(both.Deleted, d)
		}
	}
	both.Deleted = append(both.Deleted, later.Deleted...)
	return both, true
}
