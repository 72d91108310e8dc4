package objectstore

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
)

const examplePage = `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>bucket</Name><Prefix>run%2F</Prefix><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys>
  <IsTruncated>true</IsTruncated><NextContinuationToken>1ueG&amp;/=</NextContinuationToken>
  <Contents><Key>run/a+b%2Bc</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified>
    <ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag><Size>434234</Size><StorageClass>STANDARD</StorageClass>
    <Owner><ID>x</ID><Key>not this</Key></Owner></Contents>
  <Contents><Size>0</Size><ETag>bare</ETag><Key>run/z</Key></Contents>
  <CommonPrefixes><Prefix>run/d%C3%BC/</Prefix></CommonPrefixes>
  <EncodingType>url</EncodingType>
</ListBucketResult>`

func TestParsePage(t *testing.T) {
	p, err := parsePage(strings.NewReader(examplePage))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%v %q %q %d", p.truncated, p.next, p.prefixes, len(p.objects))
	if want := `true "1ueG&/=" ["run/dü/"] 2`; got != want {
		t.Errorf("%s, %s expected", got, want)
	}
	want := listed{"run/a b+c", 434234, time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), `"fba9dede5f27731c9771645a39863328"`}
	if p.objects[0] != want {
		t.Errorf("%v, %v expected", p.objects[0], want)
	}
	if want := (listed{key: "run/z", tag: `"bare"`}); p.objects[1] != want {
		t.Errorf("%v, %v expected", p.objects[1], want)
	}
	p, err = parsePage(strings.NewReader(strings.Replace(examplePage, "<EncodingType>url</EncodingType>", "", 1)))
	if err != nil || p.objects[0].key != "run/a+b%2Bc" {
		t.Errorf("%v, %v", p, err)
	}
}

func TestMalformedPages(t *testing.T) {
	in := func(s string) string { return "<ListBucketResult>" + s + "</ListBucketResult>" }
	for _, c := range []struct{ page, want string }{
		{"", "unexpected EOF"},
		{"text", "unexpected EOF"},
		{"<Error></Error>", "expected element type <ListBucketResult>"},
		{"<ListBucketResult>", "unexpected EOF"},
		{"<ListBucketResult><Contents></ListBucketResult>", "closed by"},
		{in("") + "x", "text follows"},
		{in("") + in(""), "something follows"},
		{"</a>", "unexpected end element"},
		{in("<Contents><Key>a</Key></Contents>"), "without a key or a size"},
		{in("<Contents><Size>1</Size></Contents>"), "without a key or a size"},
		{in("<Contents><Key>a</Key><Size>-1</Size></Contents>"), `size "-1"`},
		{in("<Contents><Key>a</Key><Size>9999999999999999999</Size></Contents>"), "not a number of bytes"},
		{in("<Contents><Key>a</Key><Size>1</Size><LastModified>now</LastModified></Contents>"), `"now"`},
		{in("<Contents><Key>" + strings.Repeat("k", 1025) + "</Key><Size>1</Size></Contents>"), "1025 bytes"},
		{in("<EncodingType>url</EncodingType><Contents><Key>a%zz</Key><Size>1</Size></Contents>"), "not URL-encoded"},
		{strings.Repeat("<ListBucketResult>", 100), "nested more than 8"},
		{in(strings.Repeat("<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>", maxPageKeys+1)), "10001 keys in one page"},
		{"<!DOCTYPE x [<!ENTITY a \"b\">]>" + in("<Contents><Key>&a;</Key></Contents>"), "not a whole listing"},
	} {
		if _, err := parsePage(strings.NewReader(c.page)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %v, %q expected", c.page, err, c.want)
		}
	}
}

func TestParseError(t *testing.T) {
	for body, want := range map[string]string{
		`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message><StringToSign>hunter2</StringToSign></Error>`:          "AccessDenied: Access Denied",
		`<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code><Message>a` + "\n\x1b[1mb" + `</Message></Error></ErrorResponse>`: "ExpiredTokenException",
		`<Error><Code>X</Code></Error>`: "X",
		`<html>`:                        "",
		``:                              "",
		strings.Repeat("<a>", 1000):     "",
		`<Error><Code>X</Code><Message>` + strings.Repeat("m", 1000) + `</Message></Error>`: "X: " + strings.Repeat("m", 240) + "...",
	} {
		if got := parseError([]byte(body)).String(); got != want {
			t.Errorf("%.80s: %q, %q expected", body, got, want)
		}
	}
}

func FuzzPage(f *testing.F) {
	f.Add(examplePage)
	f.Add("<ListBucketResult><Contents><Key>a//b</Key><Size>1</Size></Contents></ListBucketResult>")
	f.Add("<ListBucketResult><Contents><Key>../x</Key><Size>1</Size></Contents><CommonPrefixes><Prefix>/</Prefix></CommonPrefixes></ListBucketResult>")
	f.Fuzz(func(t *testing.T, s string) {
		parseError([]byte(s))
		p, err := parsePage(strings.NewReader(s))
		if err != nil {
			return
		}
		b := &bucket{shown: "s3://b/"}
		tree := newTree(".")
		tree.deep = true
		if err := b.take(tree, "", p); err == nil {
			checkTree(t, tree)
		}
		for _, o := range p.objects {
			if o.size < 0 || len(o.key) > maxKey {
				t.Errorf("%v", o)
			}
		}
	})
}

func BenchmarkList10000(b *testing.B) {
	objects := map[string]string{}
	for i := range 10_000 {
		objects[fmt.Sprintf("b/run/checkpoint-100/part%02d/model-%05d-of-10000.safetensors", i%100, i)] = ""
	}
	f := newFakeS3(b, objects)
	b.ReportAllocs()
	for b.Loop() {
		fsys, err := Open(b.Context(), "s3://b/run", Options{Getenv: f.env()})
		if err != nil {
			b.Fatal(err)
		}
		if d, err := fs.ReadDir(fsys, "checkpoint-100"); err != nil || len(d) != 100 {
			b.Fatal(len(d), err)
		}
		if d, err := fs.ReadDir(fsys, "checkpoint-100/part77"); err != nil || len(d) != 100 {
			b.Fatal(len(d), err)
		}
	}
}
