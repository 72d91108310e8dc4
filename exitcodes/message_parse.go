package exitcodes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

var (
	// ErrNoMessage says that a text holds no termination message at all.
	ErrNoMessage = errors.New("no termination message in the text")
	// ErrTruncated says that a text holds the beginning of a termination message, but not its end.
	ErrTruncated = errors.New("the termination message is cut off")
)

const (
	// maxParse is far above what a kubelet hands on (12288 bytes), so anything longer is some other file.
	maxParse = 64 << 10
	// maxScan bounds the work on a text that is made of opening braces.
	maxScan = 4 << 20
)

// ParseMessage reads a message back from the text of a container's status or from the file itself. A runtime may have
// put words of its own in front, braces among them, and whatever follows the message is ignored. Keys that it
// does not know are left to newer readers.
//
// The error matches ErrNoMessage or ErrTruncated where that is what is wrong; otherwise it names the key that has the
// wrong type or is missing, or the version that this reader does not know. A text above 64 KiB is refused.
func ParseMessage(b []byte) (Message, error) {
	if len(b) > maxParse {
		return Message{}, fmt.Errorf("termination message: %d bytes, at most %d are read", len(b), maxParse)
	}
	problem := ErrNoMessage
	for scanned := 0; scanned < maxScan; {
		start := bytes.IndexByte(b, '{')
		if start < 0 {
			break
		}
		b = b[start:]
		object, n, err := firstValue(b)
		scanned += n
		if err == nil {
			m, err := decodeMessage(object)
			if err == nil {
				return m, nil
			}
			if problem == ErrNoMessage && err != ErrNoMessage {
				problem = fmt.Errorf("termination message: %w", err)
			}
			// Past the whole object: what is nested in something else was not put there by the writer.
			b = b[n:]
			continue
		}
		if problem == ErrNoMessage && errors.Is(err, io.ErrUnexpectedEOF) && beginsMessage(b) {
			problem = ErrTruncated
		}
		b = b[1:]
	}
	return Message{}, problem
}

// firstValue returns the JSON value at the start of b and how many bytes were read to find its end. The error is
// io.ErrUnexpectedEOF when b ends before the value does.
func firstValue(b []byte) (json.RawMessage, int, error) {
	// Cheap, and it spares the decoder most braces that do not open an object.
	if rest := bytes.TrimLeft(b[1:], " \t\r\n"); len(rest) > 0 && rest[0] != '"' {
		return nil, 1, errors.New("not an object with keys")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	var value json.RawMessage
	err := dec.Decode(&value)
	if err == nil {
		return value, int(dec.InputOffset()), nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, int(syntax.Offset), err
	}
	return nil, len(b), err
}

// beginsMessage tells the beginning of a message from other text with a brace in it. Encode puts "v" first.
func beginsMessage(b []byte) bool {
	const first = `{"v":`
	return len(b) > 1 && bytes.HasPrefix([]byte(first), b) || bytes.Contains(b, []byte(first[1:]))
}

// decodeMessage reads one whole JSON object. It returns ErrNoMessage when that is not a message at all.
func decodeMessage(object json.RawMessage) (Message, error) {
	var has struct {
		V        *json.RawMessage `json:"v"`
		Verdict  *json.RawMessage `json:"verdict"`
		ExitCode *json.RawMessage `json:"exitCode"`
	}
	if err := json.Unmarshal(object, &has); err != nil || has.V == nil {
		return Message{}, ErrNoMessage
	}
	var v int
	if err := json.Unmarshal(*has.V, &v); err != nil {
		return Message{}, fmt.Errorf(`"v" is %s, want the number %d`, *has.V, messageVersion)
	}
	if v != messageVersion {
		return Message{}, fmt.Errorf("version %d, only version %d can be read", v, messageVersion)
	}
	if has.Verdict == nil {
		return Message{}, errors.New(`"verdict" is missing`)
	}
	if has.ExitCode == nil {
		return Message{}, errors.New(`"exitCode" is missing`)
	}
	var m Message
	if err := json.Unmarshal(object, &m); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return Message{}, fmt.Errorf("%q is a JSON %s, which is no %s", wrong.Field, wrong.Value, wrong.Type)
		}
		return Message{}, err
	}
	return m, nil
}
