package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// version is that of the file: of the buckets below and of the sealed values in them.
const version = "1"

var (
	about      = []byte("polite") // the bucket that says what file this is
	aboutField = []byte("version")
	copies     = []byte("copies") // the bucket of the values
)

// Open opens the store in the file path, and makes it if there is none, for its owner alone to read. The
// folder must exist. It fails with [ErrInUse] if the file is open elsewhere, and with [ErrDamaged] if the
// file is not in order.
func Open(path string, o *Options) (*Store, error) {
	return openWith(path, o, bbolt.Options{})
}

// openWith is Open with options for the database; tests leave out its waiting for the disk.
func openWith(path string, o *Options, base bbolt.Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	db, err := open(path, o.Wait, base)
	if err != nil {
		return nil, fmt.Errorf("disk: %s: %w", path, err)
	}
	s := &Store{
		db:   db,
		path: path,
		wake: make(chan struct{}, 1),
		full: make(chan struct{}, 1),
		quit: make(chan struct{}),
		done: make(chan struct{}),
		room: make(chan struct{}),
	}
	go s.write() // Close ends it
	return s, nil
}

// open checks the file, opens it for writing, and sees to it that it is one of ours.
func open(path string, wait time.Duration, o bbolt.Options) (*bbolt.DB, error) {
	end := time.Now().Add(wait)
	if err := inspect(path, end); err != nil {
		return nil, err
	}
	o.FreelistType = bbolt.FreelistMapType
	db, err := lock(path, end, &o)
	if err != nil {
		return nil, err
	}
	err = db.View(identify)
	if err == errEmpty {
		err = db.Update(begin)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// inspect checks the file under a lock that keeps writers out. No file, or an empty one, is in order.
//
// The database itself cannot be asked to: it trusts every page number and length that it reads, on the
// way of opening the file already.
func inspect(path string, end time.Time) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case info.Size() == 0:
		return nil
	}
	var file *os.File
	db, err := lock(path, end, &bbolt.Options{
		ReadOnly: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	})
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		err = check(file, info.Size())
	}
	return errors.Join(err, db.Close())
}

// lock opens the database, waiting for the file until end.
func lock(path string, end time.Time, o *bbolt.Options) (*bbolt.DB, error) {
	// To the database zero means for ever; it tries once however short the time.
	o.Timeout = max(time.Until(end), 1)
	o.PageSize = pageSize
	o.NoStatistics = true
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

// errEmpty is what identify says of a file that has nothing in it: a new one, or one whose process was
// killed before it came to begin.
var errEmpty = errors.New("file is empty")

// identify refuses a file that is not of this program and this version.
func identify(tx *bbolt.Tx) error {
	if first, _ := tx.Cursor().First(); first == nil {
		return errEmpty
	}
	b := tx.Bucket(about)
	if b == nil {
		return fmt.Errorf("%w: a database of another program", ErrDamaged)
	}
	if v := b.Get(aboutField); string(v) != version {
		return fmt.Errorf("file is of version %.20q, this program reads version %s", v, version)
	}
	if tx.Bucket(copies) == nil {
		return fmt.Errorf("%w: no bucket of copies", ErrDamaged)
	}
	return nil
}

// begin makes the buckets of a new file.
func begin(tx *bbolt.Tx) error {
	b, err := tx.CreateBucket(about)
	if err != nil {
		return err
	}
	if _, err := tx.CreateBucket(copies); err != nil {
		return err
	}
	return b.Put(aboutField, []byte(version))
}
