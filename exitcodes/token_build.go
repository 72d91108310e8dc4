package exitcodes

import "bytes"

// buildStep takes off what Docker puts before the output of a build's step: "#12 3.456 ", the step and the seconds.
func (l *line) buildStep() bool {
	head := l.text[:min(len(l.text), 24)]
	step, rest, found := bytes.Cut(head[1:], []byte(" "))
	seconds, _, ended := bytes.Cut(rest, []byte(" "))
	whole, part, pointed := bytes.Cut(seconds, []byte("."))
	if !found || !ended || !pointed || !digits(string(step)) || !digits(string(whole)) || !digits(string(part)) {
		return false
	}
	l.text = l.text[len("#")+len(step)+len(" ")+len(seconds)+len(" "):]
	return true
}

// airflow takes off what Airflow puts between the time and the level, its source: "{taskinstance.py:1408} ".
func (l *line) airflow() bool {
	end := bytes.Index(l.text[:min(len(l.text), maxSource)], []byte("} "))
	if !l.logged || end < 0 || !sourceFile(string(l.text[1:end])) {
		return false
	}
	l.text = l.text[end+2:]
	return true
}

const maxSource = 80
