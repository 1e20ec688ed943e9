package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/dunglas/httpsfv"
)

// This file makes the signature base, the text that is signed: RFC 9421, section 2.5.

// A message is what the components of a signature are taken from: a request, or an
// answer and its request.
type message struct {
	method, host string
	url          *url.URL
	header       http.Header
	request      *message // of an answer
}

// ofRequest is the message of a request, on the side of the client or of the server.
func ofRequest(r *http.Request) *message {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	return &message{method: r.Method, host: host, url: r.URL, header: r.Header}
}

// base returns the signature base of the components that a signature covers.
func (m *message) base(covered httpsfv.InnerList) (string, error) {
	var b strings.Builder
	seen := map[string]bool{}
	for _, c := range covered.Items {
		name, err := httpsfv.Marshal(c)
		if err != nil {
			return "", err
		}
		if seen[name] {
			return "", fmt.Errorf("the component %s is covered twice", name)
		}
		seen[name] = true
		value, err := m.component(c)
		if err != nil {
			return "", fmt.Errorf("the component %s: %w", name, err)
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	params, err := httpsfv.Marshal(covered)
	return b.String() + `"@signature-params": ` + params, err
}

// component returns the value of a component: RFC 9421, sections 2.1 and 2.2.
func (m *message) component(c httpsfv.Item) (string, error) {
	name, _ := c.Value.(string)
	if _, fromRequest := c.Params.Get("req"); fromRequest {
		if m.request == nil {
			return "", errors.New("there is no request beside this message")
		}
		m = m.request
	}
	switch name {
	case "@authority":
		return m.authority(), nil
	case "@method":
		return m.method, nil
	case "@path":
		return orSlash(m.url.EscapedPath()), nil
	case "@target-uri":
		return "https://" + m.authority() + orSlash(m.url.RequestURI()), nil
	}
	if name == "" || name[0] == '@' {
		return "", errors.New("this program does not know it")
	}
	lines := m.header.Values(name)
	if len(lines) == 0 {
		return "", errors.New("the message has no such field")
	}
	if key, ok := c.Params.Get("key"); ok {
		return member(lines, key)
	}
	var values []string
	for _, line := range lines {
		values = append(values, strings.TrimSpace(line))
	}
	return strings.Join(values, ", "), nil
}

// authority is the host in lower case, without the default port.
func (m *message) authority() string {
	return strings.TrimSuffix(strings.ToLower(m.host), ":443")
}

func orSlash(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// member returns one member of a dictionary field.
func member(lines []string, key any) (string, error) {
	d, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return "", err
	}
	name, _ := key.(string)
	v, ok := d.Get(name)
	if !ok {
		return "", fmt.Errorf("the field has no member %q", name)
	}
	switch v := v.(type) {
	case httpsfv.Item:
		return httpsfv.Marshal(v)
	case httpsfv.InnerList:
		return httpsfv.Marshal(v)
	}
	return "", errors.New("the member is neither an item nor a list")
}
