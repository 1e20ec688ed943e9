//go:build !wasm

package disk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"go.etcd.io/bbolt"
)

// The database trusts its file. If a branch page is its own child, the database recurses until the process ends.
// If the list of free pages is damaged, it overwrites pages in use. So a [checker] checks all pages before the
// database reads them. This is the part of the file format that the check needs. Numbers have the byte order of
// the machine, and positions count from the start of their element:
//
//	page     id 8, kind 2, count 2, overflow 4; then count elements; then keys and values
//	branch   element: position 4, key length 4, child page 8
//	leaf     element: flags 4, position 4, key length 4, value length 4
//	bucket   value in a leaf: root page 8, sequence 8; a root of 0 means that the page follows
//	free     page numbers of 8 bytes each; if count is 0xFFFF the first number is the count
//	meta     at 32, root page 8; at 48, page of the free list 8
const (
	pageSize    = 4096
	headerSize  = 16
	elementSize = 16
	branchPage  = 0x01
	leafPage    = 0x02
	freePage    = 0x10
	bucketFlag  = 0x01
)

var num = binary.NativeEndian

// A checker reads all pages in use, and panics at the first fault, for example when a slice expression is out of
// range. If there is no fault, then
//   - every page is in the file and is used once, by the tree or by the list of free pages,
//   - every element is in its page, and keys are in ascending order,
//   - a branch names each child by the child's first key, by which the database replaces the child.
//
// So the database never reads outside the file, never loops, and never overwrites a page in use.
type checker struct {
	file io.ReaderAt
	used []bool // by page number
}

// check returns ErrDamaged if the database in file is damaged. tx is a transaction on that database.
func check(file io.ReaderAt, tx *bbolt.Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = damaged(r, "a number in a page is out of range")
		}
	}()
	must(tx.DB().Info().PageSize == pageSize, "wrong page size")
	c := &checker{file: file, used: make([]bool, tx.Size()/pageSize)}
	c.claim(0)
	c.claim(1)
	meta := c.read(uint64(tx.ID()%2), 1) // the database has verified its checksum
	c.walk(c.page(num.Uint64(meta[32:])), nil, bucketFlag)
	c.free(c.page(num.Uint64(meta[48:])))
	return nil
}

// must panics with the fault unless ok.
func must(ok bool, fault string) {
	if !ok {
		panic(fault)
	}
}

// claim marks a page as used.
func (c *checker) claim(id uint64) {
	must(!c.used[id], "a page is used twice")
	c.used[id] = true
}

// page claims the page id with the pages that it overflows into, and returns their content.
func (c *checker) page(id uint64) []byte {
	p := c.read(id, 1)
	over := uint64(num.Uint32(p[12:]))
	for i := range 1 + over {
		c.claim(id + i)
	}
	if over > 0 {
		p = c.read(id, 1+over)
	}
	return p
}

// read returns the content of n pages.
func (c *checker) read(id, n uint64) []byte {
	p := make([]byte, n*pageSize)
	if _, err := c.file.ReadAt(p, int64(id)*pageSize); err != nil {
		panic(fmt.Sprintf("page %d cannot be read: %v", id, err))
	}
	must(num.Uint64(p) == id, "a page has the wrong number")
	return p
}

// walk checks the tree below page p. The page must begin with the key first, unless first is nil. All elements
// must have these flags: bucketFlag in the top tree, none in the tree of a bucket.
func (c *checker) walk(p, first []byte, flags uint32) {
	kind, count := num.Uint16(p[8:]), int(num.Uint16(p[10:]))
	must(kind == leafPage || kind == branchPage && count > 0, "a page has the wrong kind")
	var last []byte
	for i := range count {
		e := p[headerSize+i*elementSize:]
		lengths, valueLen := e, uint32(0)
		if kind == leafPage {
			must(num.Uint32(e) == flags, "a bucket where a value is expected, or a value where a bucket is expected")
			lengths, valueLen = e[4:], num.Uint32(e[12:])
		}
		data, keyLen := e[num.Uint32(lengths):], num.Uint32(lengths[4:])
		key, value := data[:keyLen], data[keyLen:][:valueLen]
		must(bytes.Compare(key, last) > 0, "keys are out of order")
		must(i > 0 || first == nil || bytes.Equal(key, first), "the first key of a page differs from the key in its branch")
		last = key
		if kind == branchPage {
			c.walk(c.page(num.Uint64(e[8:])), key, flags)
		} else if flags == bucketFlag {
			c.bucket(value)
		}
	}
}

// bucket checks the tree of a bucket.
func (c *checker) bucket(value []byte) {
	root, p := num.Uint64(value), value[headerSize:]
	if root != 0 {
		p = c.page(root)
	}
	must(num.Uint64(p) == root && (root != 0 || num.Uint16(p[8:]) == leafPage), "a bucket is not a page")
	must(root != 0 || num.Uint32(p[12:]) == 0, "a page in a bucket overflows")
	c.walk(p, nil, 0)
}

// free claims the pages that the list of free pages in p names.
func (c *checker) free(p []byte) {
	must(num.Uint16(p[8:]) == freePage, "the list of free pages has the wrong kind")
	ids, n := p[headerSize:], uint64(num.Uint16(p[10:]))
	if n == 0xFFFF {
		n, ids = num.Uint64(ids), ids[8:]
	}
	for ; n > 0; n, ids = n-1, ids[8:] {
		c.claim(num.Uint64(ids))
	}
}
