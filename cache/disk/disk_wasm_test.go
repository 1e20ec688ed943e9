package disk

import (
	"errors"
	"strings"
	"testing"
)

func TestOpenSaysWhatIsMissing(t *testing.T) {
	s, err := Open("robots.db", nil)
	if s != nil || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "robots.db") {
		t.Errorf("Open: %v, %v, want no store and %v with the path", s, err, errors.ErrUnsupported)
	}
}
