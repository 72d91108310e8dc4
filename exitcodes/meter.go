package exitcodes

// meter counts the bytes that one judgement looks at, and bounds them: whatever an output holds, it is read in a time that
// is linear in its length. What costs a fixed number of passes is only counted; expressions and families are not tried
// once the budget is spent. Lines are tried from the end, where what matters is.
type meter struct{ spent, budget int }

const (
	perByte   = 16       // bytes read for each byte of output, for 64 KiB of it all told
	counted   = 2        // of these that what is only counted may take last, and the allowance
	allowance = 64 << 10 // and for an output however short
)

func newMeter(n int) *meter { return &meter{budget: (perByte-counted)*n + allowance} }

// pass counts passes over n bytes.
func (m *meter) pass(passes, n int) { m.spent += passes * n }

// afford counts passes over n bytes, and reports whether the budget holds them.
func (m *meter) afford(passes, n int) bool {
	if m.spent+passes*n > m.budget {
		return false
	}
	m.spent += passes * n
	return true
}
