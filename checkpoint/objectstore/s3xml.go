package objectstore

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxPageBytes = 16 << 20
	maxPageKeys  = 10_000 // of one page; S3 sends at most 1,000
	maxKey       = 1024   // bytes; of S3 itself
	maxDepth     = 8      // of elements; S3 has 4
)

// page is one answer to ListObjectsV2.
type page struct {
	objects   []listed
	prefixes  []string
	truncated bool
	next      string
}

// listed is an object in a page.
type listed struct {
	key      string
	size     int64
	modified time.Time
	tag      string
}

// parsePage reads a ListBucketResult as docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html describes it.
// Elements that it does not know are skipped.
func parsePage(r io.Reader) (*page, error) {
	p := &page{}
	var (
		d        = xml.NewDecoder(r)
		path     []string
		text     []byte
		item     listed
		prefix   string
		encoded  bool
		elements int
		sized    bool
	)
	for {
		// Raw tokens are cheap; that ends match starts is checked here.
		token, err := d.RawToken()
		if err == io.EOF && len(path) == 0 && elements > 0 {
			break
		}
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("not a whole listing in XML: %w", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if len(path) == 0 && (name != "ListBucketResult" || elements > 0) {
				return nil, fmt.Errorf("a <%.40s> document, <ListBucketResult> expected", name)
			}
			if path = append(path, name); len(path) > maxDepth {
				return nil, fmt.Errorf("elements nested more than %d deep", maxDepth)
			}
			elements++
			text = text[:0]
			if len(path) == 2 {
				item, prefix, sized = listed{}, "", false
			}
		case xml.CharData:
			if len(path) > 1 {
				text = append(text, token...)
			}
		case xml.EndElement:
			depth := len(path)
			if depth == 0 || path[depth-1] != token.Name.Local {
				return nil, fmt.Errorf("not XML: </%.40s> closes another element", token.Name.Local)
			}
			path = path[:depth-1]
			switch {
			case depth == 2:
				switch token.Name.Local {
				case "Contents":
					if item.key == "" || !sized {
						return nil, fmt.Errorf("an object without a key or a size")
					}
					p.objects = append(p.objects, item)
				case "CommonPrefixes":
					p.prefixes = append(p.prefixes, prefix)
				case "IsTruncated":
					p.truncated = string(text) == "true"
				case "NextContinuationToken":
					p.next = string(text)
				case "EncodingType":
					encoded = string(text) == "url"
				}
				if len(p.objects)+len(p.prefixes) > maxPageKeys {
					return nil, fmt.Errorf("more than %d keys in one page", maxPageKeys)
				}
			case depth == 3 && path[1] == "Contents":
				switch token.Name.Local {
				case "Key":
					item.key = string(text)
				case "Size":
					item.size, err = strconv.ParseInt(string(text), 10, 64)
					if sized = err == nil && item.size >= 0; !sized {
						return nil, fmt.Errorf("the size %.40q is not a number of bytes", text)
					}
				case "LastModified":
					item.modified, err = time.Parse(time.RFC3339, string(text))
					if err != nil {
						return nil, fmt.Errorf("the time %.40q is not one of RFC 3339", text)
					}
				case "ETag":
					item.tag = tag(string(text))
				}
			case depth == 3 && path[1] == "CommonPrefixes" && token.Name.Local == "Prefix":
				prefix = string(text)
			}
			text = text[:0]
		}
	}
	return p, p.decode(encoded)
}

// decode takes the URL encoding off the keys, which was asked for since XML cannot hold all of them. It comes last: some
// servers say at the end whether they did encode.
func (p *page) decode(encoded bool) (err error) {
	key := func(s string) string {
		if encoded && strings.ContainsAny(s, "%+") {
			d, e := url.QueryUnescape(s)
			if e != nil {
				err = fmt.Errorf("the key %.80q is not URL-encoded", s)
			}
			s = d
		}
		if len(s) > maxKey {
			err = fmt.Errorf("a key of %d bytes, at most %d expected", len(s), maxKey)
		}
		return s
	}
	for i := range p.objects {
		p.objects[i].key = key(p.objects[i].key)
	}
	for i := range p.prefixes {
		p.prefixes[i] = key(p.prefixes[i])
	}
	return err
}

// tag is an entity tag with its quotes, which some servers leave out. What cannot be one is none.
func tag(s string) string {
	if len(s) > 256 || plainTag(s) == "" {
		return ""
	}
	if !strings.HasSuffix(s, `"`) {
		s = `"` + s + `"`
	}
	return s
}

// storeError is the body of an answer that reports an error.
type storeError struct {
	Code    string
	Message string
	Region  string
}

// parseError reads <Error>, of S3, or of STS within <ErrorResponse>. It takes nothing else out of it: other elements
// repeat what was signed.
func parseError(body []byte) (e storeError) {
	d := xml.NewDecoder(bytes.NewReader(body[:min(len(body), maxErrorBody)]))
	for depth := 0; depth <= maxDepth; {
		token, err := d.Token()
		if err != nil {
			return e
		}
		switch token := token.(type) {
		case xml.StartElement:
			var into *string
			switch token.Name.Local {
			case "Code":
				into = &e.Code
			case "Message":
				into = &e.Message
			case "Region":
				into = &e.Region
			}
			if depth++; into != nil {
				if d.DecodeElement(into, &token) != nil {
					return e
				}
				depth--
			}
		case xml.EndElement:
			depth--
		}
	}
	return e
}

func (e storeError) String() string {
	switch {
	case e.Code == "":
		return ""
	case e.Message == "":
		return clean(e.Code, 60)
	}
	return clean(e.Code, 60) + ": " + clean(strings.TrimRight(e.Message, "."), 240)
}

// clean is text of a stranger for a line of a log.
func clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd || (r >= 0x80 && r < 0xa0) {
			return -1
		}
		return r
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
