package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

const keyPrefix = "whsec_"

// ParseKeys reads a file with secrets, one on each line. The errors do not repeat what is in it.
func ParseKeys(data []byte) (keys [][]byte, err error) {
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		encoded, found := strings.CutPrefix(text, keyPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !found || err != nil || len(key) < 16 {
			return nil, errors.New("want lines of whsec_ and the base64 of at least 16 bytes")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no secret in it")
	}
	return keys, nil
}

// Signatures are those of a message by each key, separated by spaces.
func Signatures(keys [][]byte, id, timestamp string, body []byte) string {
	var list []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(list, " ")
}
