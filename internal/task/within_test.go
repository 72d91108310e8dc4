package task

import (
	"testing"
	"testing/synctest"
	"time"
)

// closed tells when it was closed.
type closed chan time.Time

func (c closed) Close() error {
	c <- time.Now()
	return nil
}

// TestWithin: who has given up has none of a result that comes later, and it is closed.
func TestWithin(t *testing.T) {
	for name, tc := range map[string]struct {
		takes, returns time.Duration
		err            error
	}{
		"in time": {time.Second, time.Second, nil},
		"late":    {time.Hour, time.Minute, ErrLate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, file := time.Now(), make(closed, 1)
				got, err := Within(time.Minute, func() (closed, error) {
					time.Sleep(tc.takes)
					return file, nil
				}, CloseLate[closed])
				if took := time.Since(begin); err != tc.err || (got == nil) != (err != nil) || took != tc.returns {
					t.Errorf("%v, %v after %v", got, err, took)
				}
				time.Sleep(2 * time.Hour)
				if len(file) == 0 != (err == nil) {
					t.Error("what is of use was closed, or what is not was left open")
				}
			})
		})
	}
}
