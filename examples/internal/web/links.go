package web

import (
	"io"
	"net/http"
	"regexp"
)

// href finds the links in the pages of this package.
var href = regexp.MustCompile(`href="([^"]+)"`)

// Links reads and closes a page, and returns its links. It returns none if the page
// cannot be read.
func Links(resp *http.Response) []string {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil
	}
	var links []string
	for _, m := range href.FindAllSubmatch(text, -1) {
		if u, err := resp.Request.URL.Parse(string(m[1])); err == nil {
			u.Fragment = ""
			links = append(links, u.String())
		}
	}
	return links
}
