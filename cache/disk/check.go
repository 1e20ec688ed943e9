package disk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of the database file, as far as it has to hold for the database not to go astray in it:
//
//	page          id 8, flags 2, count 2, overflow 4; then count elements, keys and values
//	branch        position 4, key length 4, page 8; the key stands at element + position
//	leaf          flags 4, position 4, key length 4, value length 4; the value stands after the key
//	free list     page numbers of 8 octets; if count is 0xFFFF the first of them is the true count
//	meta          magic 4, version 4, page size 4, flags 4, root 8, sequence 8, free list 8,
//	              pages 8, transaction 8, checksum 8
//
// Numbers are in the machine's own order. Two meta pages take turns; the valid one with the higher
// transaction number holds.
const (
	pageSize   = 4096
	headerSize = 16
	elemSize   = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freePage     = 0x10
	bucketFlag   = 0x01
	bucketHeader = 16 // root page 8, sequence 8; a root of 0 means that the page follows in place

	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaSum     = 56 // offset of the checksum
	metaSize    = 64

	// A tree of three levels holds millions of entries; each more multiplies that by fifty or so.
	maxDepth = 24
	// Pages of one value: those of 64 MiB.
	maxOverflow = 64 << 20 / pageSize
)

var num = binary.NativeEndian

// A checker walks over all pages that the database could be led to. What holds after it has found no
// fault: every page reached is inside the file, says itself that it is that page, is reached once and is
// not free; all elements lie inside their page; keys rise, and those of a branch are the first of the
// pages below. So no walk of the database ends up outside the file, in a circle or in a page that it is about
// to overwrite.
//
// What a value's octets are is not its concern: they carry their own checksum.
type checker struct {
	file  io.ReaderAt
	pages uint64
	seen  []uint64 // a bit for each page
	stack [][]byte // a buffer for each level
	roots []uint64 // of the buckets found
}

// check returns an error that is ErrDamaged if the file, of that many octets, is not in order.
func check(file io.ReaderAt, size int64) error {
	c := &checker{file: file}
	free, err := c.reach(size)
	if err != nil {
		return err
	}
	return c.free(free)
}

// reach walks over everything that is in use, and returns the page where the list of free pages starts.
func (c *checker) reach(size int64) (free uint64, err error) {
	meta, err := liveMeta(c.file)
	if err != nil {
		return 0, err
	}
	c.pages = num.Uint64(meta[40:])
	if c.pages > uint64(size)/pageSize {
		return 0, damaged("cut short: %d octets, but %d pages", size, c.pages)
	}
	c.seen = make([]uint64, c.pages/64+1)
	if err := c.claim(0, 2); err != nil { // the meta pages
		return 0, err
	}
	if err := c.walk(num.Uint64(meta[16:]), 0, bounds{}, c.bucket); err != nil {
		return 0, err
	}
	for _, root := range c.roots {
		if err := c.walk(root, 0, bounds{}, plain); err != nil {
			return 0, err
		}
	}
	return num.Uint64(meta[32:]), nil
}

// liveMeta returns the meta page that holds.
func liveMeta(file io.ReaderAt) ([]byte, error) {
	var live []byte
	for i := range int64(2) {
		m := make([]byte, metaSize)
		if _, err := file.ReadAt(m, i*pageSize+headerSize); err != nil && err != io.EOF {
			return nil, err
		}
		h := fnv.New64a()
		h.Write(m[:metaSum])
		valid := num.Uint32(m) == metaMagic && num.Uint32(m[4:]) == metaVersion &&
			num.Uint32(m[8:]) == pageSize && num.Uint64(m[metaSum:]) == h.Sum64()
		if valid && (live == nil || num.Uint64(m[48:]) > num.Uint64(live[48:])) {
			live = m
		}
	}
	if live == nil {
		return nil, damaged("no valid head")
	}
	return live, nil
}

// claim marks n pages from id on as in use; each may be so once.
func (c *checker) claim(id, n uint64) error {
	if n > c.pages || id > c.pages-n {
		return damaged("page %d and %d more lie outside", id, n-1)
	}
	for i := id; i < id+n; i++ {
		if c.uses(i) {
			return damaged("page %d is used twice", i)
		}
		c.seen[i/64] |= 1 << (i % 64)
	}
	return nil
}

// uses reports whether a page is claimed.
func (c *checker) uses(id uint64) bool { return c.seen[id/64]&(1<<(id%64)) != 0 }

// read claims the page id and returns it with what overflows from it, in the buffer of a level.
func (c *checker) read(id uint64, level int) (page, error) {
	for len(c.stack) <= level {
		c.stack = append(c.stack, make([]byte, pageSize))
	}
	if id >= c.pages {
		return nil, damaged("page %d lies outside", id)
	}
	b := c.stack[level][:pageSize]
	if _, err := c.file.ReadAt(b, int64(id)*pageSize); err != nil {
		return nil, err
	}
	more := page(b).overflow()
	if page(b).id() != id || more > maxOverflow {
		return nil, damaged("page %d says it is another", id)
	}
	if err := c.claim(id, uint64(more)+1); err != nil {
		return nil, err
	}
	if size := (int(more) + 1) * pageSize; size > pageSize {
		b = append(b[:pageSize], make([]byte, size-pageSize)...)
		c.stack[level] = b
		if _, err := c.file.ReadAt(b, int64(id)*pageSize); err != nil {
			return nil, err
		}
	}
	return page(b), nil
}

// Bounds are those of the keys of a page: the first is first, and all are below high. Nil is no bound.
type bounds struct {
	first, high []byte
	last        []byte // seen so far
}

// next returns an error if key may not follow. The database finds the entry of a page in the branch above
// by the page's first key when it replaces it, and with another there it would keep both: hence equality.
func (in *bounds) next(key []byte) error {
	switch {
	case len(key) == 0:
		return damaged("a key is empty")
	case in.last == nil && in.first != nil && !bytes.Equal(key, in.first):
		return damaged("a page begins with another key than the branch above it says")
	case bytes.Compare(key, in.last) <= 0, in.high != nil && bytes.Compare(key, in.high) >= 0:
		return damaged("keys are out of order")
	}
	in.last = key
	return nil
}

// walk checks the tree under the page id. Each leaf element is given to leaf.
func (c *checker) walk(id uint64, level int, in bounds, leaf func(flags uint32, value []byte) error) error {
	if level >= maxDepth {
		return damaged("tree is too deep")
	}
	p, err := c.read(id, level)
	if err != nil {
		return err
	}
	isLeaf := p.flags() == leafPage
	if !isLeaf && (p.flags() != branchPage || p.count() == 0) {
		return damaged("page %d is of kind %#x", id, p.flags())
	}
	if isLeaf {
		return p.leaves(in, leaf)
	}
	for i := range p.count() {
		key, child, err := p.branch(i)
		if err != nil {
			return err
		}
		if err := in.next(key); err != nil {
			return err
		}
		below := bounds{first: key, high: in.high}
		if i+1 < p.count() {
			if below.high, _, err = p.branch(i + 1); err != nil {
				return err
			}
		}
		if err := c.walk(child, level+1, below, leaf); err != nil {
			return err
		}
	}
	return nil
}

// bucket checks an element of the root, which holds the two buckets and nothing else.
func (c *checker) bucket(flags uint32, value []byte) error {
	if flags != bucketFlag || len(value) < bucketHeader {
		return damaged("no bucket where one should be")
	}
	if root := num.Uint64(value); root != 0 {
		c.roots = append(c.roots, root)
		return nil
	}
	p := page(value[bucketHeader:])
	// With another number the database would free that page as the old one of this bucket.
	if len(p) < headerSize || p.flags() != leafPage || p.id() != 0 || p.overflow() != 0 {
		return damaged("no page where one should be")
	}
	return p.leaves(bounds{}, plain)
}

// plain checks an element of one of the buckets.
func plain(flags uint32, _ []byte) error {
	if flags != 0 {
		return damaged("a bucket where none should be")
	}
	return nil
}

// free checks the list of free pages, which starts at the page id.
func (c *checker) free(id uint64) error {
	p, err := c.read(id, 0)
	if err != nil {
		return err
	}
	if p.flags() != freePage {
		return damaged("page %d is no list of free pages", id)
	}
	ids, n := p[headerSize:], uint64(p.count())
	if n == 0xFFFF {
		n, ids = num.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return damaged("list of free pages is too long")
	}
	for i := range n {
		if err := c.claim(num.Uint64(ids[i*8:]), 1); err != nil {
			return err
		}
	}
	return nil
}

// A page is its octets, header included.
type page []byte

func (p page) id() uint64       { return num.Uint64(p) }
func (p page) flags() uint16    { return num.Uint16(p[8:]) }
func (p page) count() int       { return int(num.Uint16(p[10:])) }
func (p page) overflow() uint32 { return num.Uint32(p[12:]) }

// element returns the octets of element i.
func (p page) element(i int) ([]byte, error) {
	if headerSize+(i+1)*elemSize > len(p) {
		return nil, damaged("page has more elements than room")
	}
	return p[headerSize+i*elemSize:][:elemSize], nil
}

// span returns n octets at a position that is relative to element i, behind all elements.
func (p page) span(i int, at, n uint64) ([]byte, error) {
	from := headerSize + uint64(i)*elemSize + at
	if from < uint64(headerSize+p.count()*elemSize) || n > uint64(len(p)) || from > uint64(len(p))-n {
		return nil, damaged("an element lies outside its page")
	}
	return p[from : from+n], nil
}

// branch returns the key and the page of element i.
func (p page) branch(i int) (key []byte, child uint64, err error) {
	e, err := p.element(i)
	if err != nil {
		return nil, 0, err
	}
	key, err = p.span(i, uint64(num.Uint32(e)), uint64(num.Uint32(e[4:])))
	return key, num.Uint64(e[8:]), err
}

// leaves checks the elements of a leaf and gives each to leaf.
func (p page) leaves(in bounds, leaf func(flags uint32, value []byte) error) error {
	for i := range p.count() {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		keyLen, valueLen := uint64(num.Uint32(e[8:])), uint64(num.Uint32(e[12:]))
		both, err := p.span(i, uint64(num.Uint32(e[4:])), keyLen+valueLen)
		if err != nil {
			return err
		}
		if err := in.next(both[:keyLen]); err != nil {
			return err
		}
		if err := leaf(num.Uint32(e), both[keyLen:]); err != nil {
			return err
		}
	}
	return nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
