package wording

// Word is a word of a text.
type Word struct {
	Key  string // in small letters, and no longer than keyLength, so that "retry" and "retrying" are seldom two
	Text string // as it stands in the text
}

const (
	// MaxText is how much of a text is read, in bytes.
	MaxText   = 600
	keyLength = 7
	maxWords  = 120
	maxLetter = 30 // of a longer run of letters nothing is known
)

// Words splits a text into its different words: runs of letters, of names like ConnectionError also the parts, and the numbers
// of HTTP's statuses.
func Words(text string) []Word {
	text = text[:min(len(text), MaxText)]
	var words []Word
	seen := map[string]bool{}
	add := func(word string) {
		if key := Key(word); len(word) <= maxLetter && len(words) < maxWords && !seen[key] {
			seen[key] = true
			words = append(words, Word{key, word})
		}
	}
	for i := 0; i < len(text); {
		j := i
		switch {
		case letter(text[i]):
			for j < len(text) && letter(text[j]) {
				j++
			}
			add(text[i:j])
			parts(text[i:j], add)
		case digit(text[i]):
			for j < len(text) && digit(text[j]) {
				j++
			}
			if j-i == 3 && (text[i] == '4' || text[i] == '5') {
				add(text[i:j])
			}
		default:
			j++
		}
		i = j
	}
	return words
}

// parts finds the words in a name like ConnectionError or HTTPError.
func parts(name string, add func(string)) {
	begin := 0
	for i := 1; i < len(name); i++ {
		if upper(name[i]) && (!upper(name[i-1]) || i+1 < len(name) && !upper(name[i+1])) {
			add(name[begin:i])
			begin = i
		}
	}
	if begin > 0 {
		add(name[begin:])
	}
}

// Key is the key of a word.
func Key(word string) string {
	b := []byte(word[:min(len(word), keyLength)])
	for i, c := range b {
		if upper(c) {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func letter(c byte) bool { return upper(c) || c >= 'a' && c <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
