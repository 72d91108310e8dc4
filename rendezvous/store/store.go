// Package store keeps the record of a job: a few small keys, watched by everybody and changed in transactions.
//
// What is in the keys is not its business. It promises what the rounds need to be safe:
//
//   - a transaction is atomic, and happens in one order that everybody sees (linearizable);
//   - a watch shows every change in that order, or says Reset and starts again with the whole state;
//   - a key that is put on a lease is there for as long as the lease is kept alive, and its holder knows from when on
//     it can no longer count on that;
//   - a store that lost its memory is another store: its token differs, old conditions do not hold in it, and what
//     was read before is taken back by a Reset.
//
// Memory is the store of a single process. The sub-packages etcd and embedded are the others.
package store

import (
	"context"
	"errors"
	"time"
)

// MaxValue is the largest value that Commit takes, in bytes. etcd refuses requests above 1.5 MiB.
const MaxValue = 1 << 20

// MaxOps is the largest number of conditions, and of changes and reads together, in one transaction. etcd's own limit
// is 128, as it is set up by default.
const MaxOps = 100

// Kinds of errors. All errors of a Store are of one of these kinds or of the context's; errors.Is tells which.
var (
	// ErrUnreachable: no answer in time, or nobody to answer. A Commit that ends so may have happened all the same.
	ErrUnreachable = errors.New("the store cannot be reached")
	// ErrDenied: wrong or missing user or password, or no permission for the keys. Trying again does not help.
	ErrDenied = errors.New("the store denies access")
	// ErrTLS: a certificate was not accepted, here or there. Trying again does not help.
	ErrTLS = errors.New("no TLS connection to the store")
	// ErrFull: the store answers, keeps its leases and takes nothing more. It goes on when somebody has made room.
	ErrFull = errors.New("the store is full and takes nothing more: compact and defragment it, then etcdctl alarm disarm")
	// ErrRefused: the store has answered and will not do it: too large, too many operations.
	ErrRefused = errors.New("the store refuses the request")
	// ErrSettings: what was given to reach the store is wrong, such as a file that is not there. Trying again does not
	// help.
	ErrSettings = errors.New("the store's settings are wrong")
	// ErrUnusable: this machine cannot run an embedded store. Trying again does not help.
	ErrUnusable = errors.New("no store can be started here")
	// ErrChanged: the store is not the one that was read before. Nothing was written.
	ErrChanged = errors.New("the store has been replaced by another one")
	// ErrLeaseLost: the lease has expired or was revoked. Nothing was written.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrInUse: the address of an embedded store is taken, as a rule by the store of another gangrun on this host.
	ErrInUse = errors.New("the address is in use")
	// ErrClosed: this Store was closed.
	ErrClosed = errors.New("the store is closed")
)

// Store is one node's connection to the record of one job. Its methods may be called from any goroutine.
//
// Keys are relative to the job. Where a selector is asked for, a name that ends in a slash stands for all keys below
// it, the empty name for all keys, and any other name for that key alone.
type Store interface {
	// Commit does what is in the transaction, if all its conditions hold. The answer is as of Result.Rev.
	Commit(ctx context.Context, txn Txn) (Result, error)
	// Watch follows the selected keys until the context ends.
	Watch(ctx context.Context, selector string) Watcher
	// Join makes a lease and keeps it alive. The store may grant a longer time than was asked for.
	Join(ctx context.Context, ttl time.Duration) (Lease, error)
	// Grant makes a lease that nobody keeps alive: its keys are there for that time and no longer.
	Grant(ctx context.Context, ttl time.Duration) (Lease, error)
	// Revoke ends a lease, whoever holds it, and deletes its keys. That it is gone already is no error.
	Revoke(ctx context.Context, id string) error
	// Before returns the youngest of the selected keys that was created before the given revision.
	Before(ctx context.Context, selector string, createRev int64) (kv KV, found bool, err error)
	// Close ends the watches and stops keeping the leases alive. It revokes none.
	Close() error
}

// KV is one key as it is.
type KV struct {
	Key   string
	Value []byte
	// CreateRev is the revision at which the key came to be; a key that was deleted and put again has a new one.
	CreateRev int64
	// ModRev is the revision of its last change.
	ModRev int64
	// Leased says that it goes with a lease, and Lease is that one's id.
	Leased bool
	Lease  string
}

// Deletion is one key that is no more: deleted, or its lease ended.
type Deletion struct {
	Key string
	Rev int64
}

// Update is what a watch has to tell. A key is in Changed and Deleted at most once.
type Update struct {
	// Reset: forget everything, Changed is the whole state. So starts every watch; later it means that changes may
	// have been missed.
	Reset   bool
	Changed []KV
	Deleted []Deletion
	// Passed is what was put and is there no more: what its key was on each other lease that it had, where two updates
	// were made one.
	Passed []KV
	// Rev is the revision up to which the reader has now seen every change of the selected keys.
	Rev int64
	// Token names the store that this is from. It may be empty until something is first written to the job.
	Token string
}

// Watcher is a running watch.
type Watcher interface {
	// Updates is closed when the context of the watch or the store has ended.
	Updates() <-chan Update
	// Sync asks for an update, an empty one if need be, whose Rev is at least rev. It does not wait. With the Rev of
	// a Result, the reader knows when it has seen everything that had happened by that time.
	Sync(rev int64)
}

// Lease is a lease that is being kept alive.
type Lease interface {
	// ID is unique in the store.
	ID() string
	// TTL is the time that the store grants from each renewal on.
	TTL() time.Duration
	// Renewed is when the last successful renewal was sent, by the store's Clock. The keys of the lease cannot be gone
	// before Renewed + TTL.
	Renewed() time.Duration
	// Lost is closed when the store says that the lease is no more. It is not closed by mere silence: see Renewed.
	Lost() <-chan struct{}
	// Close revokes the lease, which deletes its keys.
	Close(ctx context.Context) error
}
