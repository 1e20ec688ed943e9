package disk

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/rfc9309/polite/cache"
)

// Store is a cache.Store in a file. WebAssembly has none: Open fails.
type Store struct{ methods }

// methods are the methods of a Store.
type methods interface {
	cache.Store
	io.Closer
}

// Open returns an error that is [errors.ErrUnsupported].
func Open(path string, _ *Options) (*Store, error) {
	return nil, fmt.Errorf("disk: %s: %w on %s/%s: no file locks; use cache.NewMemory, or a store of your own",
		path, errors.ErrUnsupported, runtime.GOOS, runtime.GOARCH)
}
