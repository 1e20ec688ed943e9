// Package seal wraps a value for a place that others can write to or that can rot: a file, a server. What
// is sealed names its key and its end and has a checksum over all of it, so that it is opened as it was
// sealed, for the key that it was sealed for, or not at all.
//
// The checksum finds accidents, not forgery: whoever can write to the place can seal.
package seal

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"math"
	"time"
)

// The form of version 1, numbers big-endian:
//
//	 0  version
//	 1  CRC-64/ECMA of all that follows
//	 9  end, in milliseconds since 1970
//	17  length of the key
//	19  key, value
const (
	version = 1
	atSum   = 1
	atEnd   = 9
	atLen   = 17
	atKey   = 19
)

// MaxKey is the length in octets of the longest key that can be sealed.
const MaxKey = math.MaxUint16

var (
	// ErrKey is the error of sealing under a key longer than MaxKey.
	ErrKey = errors.New("key is too long")
	// ErrBroken is the error of opening what was not sealed here, has changed since, or belongs to
	// another key.
	ErrBroken = errors.New("value is damaged or belongs to another key")
)

// Head is the number of bytes before the value in what is sealed for key.
func Head(key string) int { return atKey + len(key) }

// Seal returns value sealed for key until end.
func Seal(key string, value []byte, end time.Time) ([]byte, error) {
	if len(key) > MaxKey {
		return nil, ErrKey
	}
	b := make([]byte, atKey, atKey+len(key)+len(value))
	b[0] = version
	binary.BigEndian.PutUint64(b[atEnd:], uint64(end.UnixMilli()))
	binary.BigEndian.PutUint16(b[atLen:], uint16(len(key)))
	b = append(append(b, key...), value...)
	binary.BigEndian.PutUint64(b[atSum:], sum(b))
	return b, nil
}

// Open returns the value that was sealed for key, as a slice of b, and the end of its time. It reads
// b once: memory that another process may change is to be copied before.
func Open(key string, b []byte) (value []byte, end time.Time, err error) {
	if len(b) < atKey || b[0] != version || binary.BigEndian.Uint64(b[atSum:]) != sum(b) {
		return nil, time.Time{}, ErrBroken
	}
	n := int(binary.BigEndian.Uint16(b[atLen:]))
	if len(b) < atKey+n || string(b[atKey:atKey+n]) != key {
		return nil, time.Time{}, ErrBroken
	}
	return b[atKey+n:], time.UnixMilli(int64(binary.BigEndian.Uint64(b[atEnd:]))), nil
}

// Passed reports whether the end of what is sealed in b lies before now, without opening it. What is too
// short to have an end has none to wait for.
func Passed(b []byte, now time.Time) bool {
	return len(b) < atLen || int64(binary.BigEndian.Uint64(b[atEnd:])) <= now.UnixMilli()
}

func sum(b []byte) uint64 { return crc64.Checksum(b[atEnd:], crc64.MakeTable(crc64.ECMA)) }
