package exitcodes

import (
	"bytes"
	"strconv"
)

// fewestNumbered is how many lines show that lines are numbered.
const fewestNumbered = 6

// numbered is what a page or a viewer puts before the lines of an output that it numbers, "[1831] ", "1831: ", "1831| " or "1831\t":
// each with the next number. A head for each number of digits.
func numbered(output []byte, m *meter) (heads []shipper) {
	before, lines := 0, 0
	for text := range bytes.Lines(output) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		m.pass(1, min(len(text), maxShipped))
		head, n := numberHead(text)
		if lines++; len(head) == 0 || lines > 1 && n != before+1 {
			return nil
		}
		if before = n; len(heads) == 0 || len(heads[len(heads)-1].head) != len(head) {
			heads = append(heads, shipper{head: head, counts: true})
		}
	}
	if lines < fewestNumbered {
		return nil
	}
	return heads
}

// numberHead is the number with which a line begins, and what separates it from the line.
func numberHead(text []byte) (head []byte, n int) {
	rest := bytes.TrimLeft(text[:min(len(text), maxShipped)], " [")
	i := 0
	for i < len(rest) && isDigit(rest[i]) {
		i++
	}
	n, err := strconv.Atoi(string(rest[:i]))
	if err != nil || i > 7 {
		return nil, 0
	}
	j := i
	for j < len(rest) && j < i+2 && bytes.IndexByte([]byte("]:|\t "), rest[j]) >= 0 {
		j++
	}
	if j == i || j == i+1 && rest[i] == ' ' { // a number, and no numbering
		return nil, 0
	}
	return text[:len(text[:min(len(text), maxShipped)])-len(rest)+j], n
}

// margin is what stands before all lines of an output that somebody has pasted with an indentation of its own. Frames alone have theirs.
func margin(output []byte, m *meter) []shipper {
	width, lines, own := maxShipped, 0, false
	for text := range bytes.Lines(output) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		m.pass(1, min(len(text), maxShipped))
		lines++
		n := len(text) - len(bytes.TrimLeft(text, " "))
		if n == 0 {
			return nil
		}
		if n < width {
			width, own = n, false
		}
		own = own || n == width && !bytes.HasPrefix(text[n:], []byte(`File "`)) && !bytes.HasPrefix(text[n:], []byte("at ")) && text[n] != '[' && text[n] != '"'
	}
	if lines == 0 || !own {
		return nil
	}
	return []shipper{{head: bytes.Repeat([]byte(" "), width), counts: true}}
}
