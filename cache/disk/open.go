//go:build !wasm

package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// copies is the name of the bucket that has the values. It identifies the file as a store and has its version.
var copies = []byte("polite 2")

var errNotRegular = errors.New("not a regular file")

// Open opens the store in the file path. If there is no file it creates one that only its owner can read. The folder
// must exist. The error is [ErrInUse] if the file is open elsewhere, and [ErrDamaged] if the file is damaged or is
// not a store of this version.
func Open(path string, o *Options) (*Store, error) {
	return openWith(path, o, bbolt.Options{})
}

// openWith is Open with options for the database, which tests set.
func openWith(path string, o *Options, base bbolt.Options) (*Store, error) {
	end := time.Now().Add(cmp.Or(o, &Options{}).Wait)
	err := checkFile(path, end)
	var db *bbolt.DB
	if err == nil {
		base.FreelistType = bbolt.FreelistMapType // faster in a large file with many free pages
		db, err = openDB(path, end, &base)
	}
	if err == nil {
		err = prepare(db)
	}
	if err != nil {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		return nil, fmt.Errorf("disk: %s: %w", path, err)
	}
	s := &Store{
		path:    path,
		db:      db,
		wake:    make(chan struct{}, 1),
		full:    make(chan struct{}, 1),
		quit:    make(chan struct{}),
		room:    make(chan struct{}),
		pending: make(map[string][]byte),
		limit:   minPending,
	}
	s.commit = s.writeAll
	s.writer.Go(s.write) // Close ends it
	return s, nil
}

// checkFile checks the file while a read lock keeps writers out. An absent or empty file is valid.
func checkFile(path string, end time.Time) error {
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil // if err is not absence, opening the file will return it
	case !info.Mode().IsRegular():
		return errNotRegular
	case info.Size() == 0:
		return nil
	}
	var file *os.File
	db, err := openDB(path, end, &bbolt.Options{
		ReadOnly: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	})
	if err != nil {
		return err
	}
	err = db.View(func(tx *bbolt.Tx) error { return check(file, tx) })
	return errors.Join(err, db.Close())
}

// openDB opens the database, which locks its file. It waits until end for another process to close the file.
func openDB(path string, end time.Time, o *bbolt.Options) (*bbolt.DB, error) {
	o.Timeout = max(time.Until(end), 1) // zero would mean no limit
	o.PageSize, o.NoStatistics = pageSize, true
	db, err := bbolt.Open(path, 0o600, o)
	var system *fs.PathError
	switch {
	case err == nil || errors.As(err, &system):
		return db, err
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, ErrInUse
	}
	return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
}

// prepare creates the bucket in a new file. It returns ErrDamaged for a file of another program or version.
func prepare(db *bbolt.DB) error {
	tx, err := db.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if tx.Bucket(copies) != nil {
		return nil
	}
	if tx.ID() > 2 { // not the first transaction of the file
		return fmt.Errorf("%w: it has no bucket %q", ErrDamaged, copies)
	}
	if _, err := tx.CreateBucket(copies); err != nil {
		return err
	}
	return tx.Commit()
}
