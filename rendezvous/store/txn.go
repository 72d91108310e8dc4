package store

import "fmt"

// Txn is one transaction.
type Txn struct {
	// Token, if not empty, names the store that the conditions are about: in another one nothing happens, and the error
	// is ErrChanged. Give that of the Update or Result that they come from.
	Token string
	// If holds the conditions. With none, it always happens.
	If []Cond
	// Then is what happens. No key may occur in it twice.
	Then []Op
	// Ends is a lease with which what the store itself keeps for the record ends, too: given when the last keys are put on
	// it. Lasts takes that back.
	Ends  Lease
	Lasts bool
	// Read selects keys to return, as they are after the transaction, whether it happened or not.
	Read []string
	// Else selects more keys, which are returned, after the others, only if it did not happen.
	Else []string
}

// Result is the answer to a Txn.
type Result struct {
	// OK: the conditions held.
	OK bool
	// Rev is the store's revision after the transaction; if it wrote something, the revision of what it wrote.
	Rev int64
	// Read holds the keys asked for, in the order of Txn.Read, each selector's sorted by name. Missing ones are left out.
	Read []KV
	// Token names the store, as in Update.
	Token string
}

// Cond is a condition on one key.
type Cond struct {
	Key    string
	Create bool // compare the create revision, not the mod revision
	Rev    int64
}

// Absent holds while there is no such key.
func Absent(key string) Cond { return Cond{Key: key} }

// Unchanged holds while the key's mod revision is rev.
func Unchanged(key string, rev int64) Cond { return Cond{Key: key, Rev: rev} }

// Since holds while the key is the one that was created at rev.
func Since(key string, rev int64) Cond { return Cond{Key: key, Create: true, Rev: rev} }

// Op is one change.
type Op struct {
	Key    string // a selector if Delete
	Value  []byte
	Lease  Lease // nil: the key stays
	Delete bool
}

// Put sets a key that stays. If it was on a lease before, it no longer is.
func Put(key string, value []byte) Op { return Op{Key: key, Value: value} }

// PutLeased sets a key that goes with the lease.
func PutLeased(key string, value []byte, lease Lease) Op {
	return Op{Key: key, Value: value, Lease: lease}
}

// Delete removes the selected keys, if they are there.
func Delete(selector string) Op { return Op{Key: selector, Delete: true} }

// Check refuses what no store takes: a put without a key or into a directory, a value above MaxValue, a key twice, more
// than MaxOps.
func (t Txn) Check() error {
	if n := max(len(t.If), len(t.Then)+len(t.Read), len(t.Read)+len(t.Else)); n > MaxOps {
		return fmt.Errorf("%w: %d operations in one transaction, at most %d are allowed", ErrRefused, n, MaxOps)
	}
	for _, op := range t.Then {
		switch {
		case op.Delete:
		case op.Key == "" || IsPrefix(op.Key):
			return fmt.Errorf("%w: put %q: a key may not be empty or end in a slash", ErrRefused, op.Key)
		case len(op.Value) > MaxValue:
			return fmt.Errorf("%w: put %q: %d bytes, at most %d are allowed", ErrRefused, op.Key, len(op.Value), MaxValue)
		}
	}
	return twice(t.Then)
}

// twice finds a key that is changed more than once. etcd refuses that too: there is no order within a transaction.
func twice(ops []Op) error {
	for i, op := range ops {
		for _, other := range ops[:i] {
			if Selects(op.Key, other.Key) && op.Delete || Selects(other.Key, op.Key) && other.Delete || op.Key == other.Key {
				return fmt.Errorf("%w: %q is changed twice in one transaction", ErrRefused, op.Key)
			}
		}
	}
	return nil
}
