package web

import (
	"io"
	"net/http"
	"regexp"
)

// href finds links well enough for pages that this package wrote.
var href = regexp.MustCompile(`href="([^"]+)"`)

// Links reads a page to its end, closes it and returns what it links to.
func Links(resp *http.Response) ([]string, error) {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	var links []string
	for _, m := range href.FindAllSubmatch(text, -1) {
		if u, err := resp.Request.URL.Parse(string(m[1])); err == nil {
			u.Fragment = ""
			links = append(links, u.String())
		}
	}
	return links, nil
}
