package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"time"
)

// This file writes and reads WARC 1.1 (ISO 28500). Each record is a gzip member of its
// own, so that a reader can begin at any of them.

// A record is one record of a WARC file.
type record struct {
	kind    string // WARC-Type: request, response or metadata
	target  string // WARC-Target-URI
	date    time.Time
	content string // Content-Type of the block
	to      string // WARC-Concurrent-To: the record that this one is about
	id      string // WARC-Record-ID; write sets it
	block   []byte
}

// write appends a record and returns its ID.
func (r *record) write(w io.Writer) (id string, err error) {
	r.id = newID()
	var b bytes.Buffer
	b.WriteString("WARC/1.1\r\n")
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	sum := sha256.Sum256(r.block)
	field("WARC-Type", r.kind)
	field("WARC-Record-ID", r.id)
	field("WARC-Date", r.date.UTC().Format(time.RFC3339Nano))
	field("WARC-Target-URI", r.target)
	field("WARC-Concurrent-To", r.to)
	field("WARC-Block-Digest", "sha256:"+base32.StdEncoding.EncodeToString(sum[:]))
	field("Content-Type", r.content)
	field("Content-Length", strconv.Itoa(len(r.block)))
	b.WriteString("\r\n")
	b.Write(r.block)
	b.WriteString("\r\n\r\n")
	member := gzip.NewWriter(w)
	if _, err := member.Write(b.Bytes()); err != nil {
		return "", err
	}
	return r.id, member.Close()
}

// newID returns a random UUID (RFC 9562, version 4) as a URN.
func newID() string {
	var u [16]byte
	rand.Read(u[:])
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// longBlock is the longest block that read accepts, in bytes.
const longBlock = 1 << 20

// read reads all records of a file and checks their digests.
func read(r io.Reader) ([]record, error) {
	in := bufio.NewReader(r)
	var all []record
	for {
		if _, err := in.Peek(1); err == io.EOF {
			return all, nil
		}
		member, err := gzip.NewReader(in)
		if err != nil {
			return all, err
		}
		member.Multistream(false)
		one, err := readRecord(member)
		if err != nil {
			return all, fmt.Errorf("record %d: %w", len(all)+1, err)
		}
		all = append(all, one)
	}
}

func readRecord(r io.Reader) (record, error) {
	in := textproto.NewReader(bufio.NewReader(r))
	version, err := in.ReadLine()
	if err != nil || version != "WARC/1.1" {
		return record{}, fmt.Errorf("it begins with %q, want WARC/1.1", version)
	}
	h, err := in.ReadMIMEHeader()
	if err != nil {
		return record{}, err
	}
	n, err := strconv.Atoi(h.Get("Content-Length"))
	if err != nil || n < 0 || n > longBlock {
		return record{}, fmt.Errorf("a Content-Length of %q", h.Get("Content-Length"))
	}
	date, err := time.Parse(time.RFC3339Nano, h.Get("WARC-Date"))
	if err != nil {
		return record{}, err
	}
	one := record{
		kind: h.Get("WARC-Type"), target: h.Get("WARC-Target-URI"), date: date, content: h.Get("Content-Type"),
		to: h.Get("WARC-Concurrent-To"), id: h.Get("WARC-Record-ID"), block: make([]byte, n),
	}
	if _, err := io.ReadFull(in.R, one.block); err != nil {
		return record{}, err
	}
	sum := sha256.Sum256(one.block)
	if want := "sha256:" + base32.StdEncoding.EncodeToString(sum[:]); h.Get("WARC-Block-Digest") != want {
		return record{}, fmt.Errorf("the digest is %q, want %q", h.Get("WARC-Block-Digest"), want)
	}
	rest, err := io.ReadAll(in.R)
	if err != nil || string(rest) != "\r\n\r\n" {
		return record{}, fmt.Errorf("it ends with %q, %v", rest, err)
	}
	return one, nil
}
