package objectstore

import (
	"bytes"
	"encoding/xml"
	"errors"
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

// shallowXML hands on the tokens of a document that is no deeper than it should be. Whether ends match starts is
// checked by the decoder that reads them.
type shallowXML struct {
	*xml.Decoder
	depth int
}

func (s *shallowXML) Token() (xml.Token, error) {
	token, err := s.RawToken()
	switch token.(type) {
	case xml.StartElement:
		s.depth++
	case xml.EndElement:
		s.depth--
	}
	if s.depth > maxDepth {
		return nil, fmt.Errorf("elements nested more than %d deep", maxDepth)
	}
	return token, err
}

// parsePage reads a ListBucketResult as docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html describes it.
// Elements that it does not know are skipped.
func parsePage(r io.Reader) (*page, error) {
	var result struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           string
		NextContinuationToken string
		EncodingType          string
		Contents              []struct{ Key, Size, LastModified, ETag string }
		CommonPrefixes        []struct{ Prefix string }
	}
	d := xml.NewTokenDecoder(&shallowXML{Decoder: xml.NewDecoder(r)})
	err := d.Decode(&result)
	if err == nil {
		err = ended(d)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("not a whole listing in XML: %w", err)
	}
	if n := len(result.Contents) + len(result.CommonPrefixes); n > maxPageKeys {
		return nil, fmt.Errorf("%d keys in one page, at most %d expected", n, maxPageKeys)
	}
	p := &page{truncated: result.IsTruncated == "true", next: result.NextContinuationToken}
	for _, c := range result.Contents {
		if c.Key == "" || c.Size == "" {
			return nil, errors.New("an object without a key or a size")
		}
		item := listed{key: c.Key, tag: tag(c.ETag)}
		if item.size, err = strconv.ParseInt(c.Size, 10, 64); err != nil || item.size < 0 {
			return nil, fmt.Errorf("the size %.40q is not a number of bytes", c.Size)
		}
		if c.LastModified != "" {
			if item.modified, err = time.Parse(time.RFC3339, c.LastModified); err != nil {
				return nil, fmt.Errorf("the time %.40q is not one of RFC 3339", c.LastModified)
			}
		}
		p.objects = append(p.objects, item)
	}
	for _, c := range result.CommonPrefixes {
		p.prefixes = append(p.prefixes, c.Prefix)
	}
	return p, p.decode(result.EncodingType == "url")
}

// ended wants nothing but space and comments behind a document.
func ended(d *xml.Decoder) error {
	for {
		token, err := d.Token()
		switch token := token.(type) {
		case nil:
			if err == io.EOF {
				return nil
			}
			return err
		case xml.Comment, xml.ProcInst:
		case xml.CharData:
			if len(bytes.TrimSpace(token)) > 0 {
				return errors.New("text follows it")
			}
		default:
			return errors.New("something follows it")
		}
	}
}

// decode takes the URL encoding off the keys, which was asked for since XML cannot hold all of them. It comes last:
// some servers say at the end whether they did encode.
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

// tag is an entity tag with its quotes, which some servers leave out. An invalid one counts as absent.
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
func parseError(body []byte) storeError {
	var of struct {
		XMLName xml.Name
		storeError
		Error storeError
	}
	d := xml.NewTokenDecoder(&shallowXML{Decoder: xml.NewDecoder(bytes.NewReader(body[:min(len(body), maxErrorBody)]))})
	_ = d.Decode(&of) // what came before a mistake counts
	switch of.XMLName.Local {
	case "Error":
		return of.storeError
	case "ErrorResponse":
		return of.Error
	}
	return storeError{}
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
