package inspect

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// TestShots takes pictures for people to look at, into the folder that
// POLITE_SCREENSHOTS names.
func TestShots(t *testing.T) {
	dir := os.Getenv("POLITE_SCREENSHOTS")
	if dir == "" {
		t.Skip("POLITE_SCREENSHOTS names no folder for pictures of the page")
	}
	page, ft := demo(t, &Options{Actions: true}, 1500)
	srv := httptest.NewServer(page.Handler(ft))
	defer srv.Close()
	b := newBrowser(t)
	pages := map[string]string{
		"overview":    "/debug/polite",
		"authorities": "/debug/polite?view=authorities",
		"authority":   "/debug/polite?authority=https://shop.example.com",
		"down":        "/debug/polite?authority=http://old.example.edu",
		"recent":      "/debug/polite?view=recent",
		"ask":         "/debug/polite?url=https://shop.example.com/private/press/kit.pdf",
		"unknown":     "/debug/polite?url=https://unknown.example.com/",
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1280, 390} {
			b.look(width, 900, scheme)
			for name, at := range pages {
				b.visit(srv.URL + at)
				b.shoot(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, scheme, width)), true)
			}
		}
	}
	if b.log != nil {
		t.Error(b.log)
	}
}
