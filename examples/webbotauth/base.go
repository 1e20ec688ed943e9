package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/dunglas/httpsfv"
	"golang.org/x/net/http/httpguts"
)

// This file makes the signature base, the text that is signed: RFC 9421, section 2.5.

// A message is what the components of a signature are taken from: a request, or an
// answer and its request.
type message struct {
	method, scheme, host string
	url                  *url.URL
	header               http.Header
	request              *message // of an answer
}

// ofRequest is the message of a request as net/http sends it, on the side of the client
// or of the server. A server behind a proxy for TLS must set the scheme itself.
func ofRequest(r *http.Request) *message {
	m := &message{method: cmp.Or(r.Method, http.MethodGet), scheme: cmp.Or(r.URL.Scheme, "http"), host: cmp.Or(r.Host, r.URL.Host), url: r.URL, header: r.Header}
	if r.TLS != nil {
		m.scheme = "https"
	}
	return m
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
	case "@method":
		return m.method, nil
	case "@authority":
		return m.authority()
	case "@path", "@target-uri":
		return m.target(name)
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

// authority is the host in ASCII and in lower case, without the default port of the
// scheme: RFC 9421, section 2.2.3.
func (m *message) authority() (string, error) {
	host, err := httpguts.PunycodeHostPort(m.host)
	port := ":443"
	if m.scheme == "http" {
		port = ":80"
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(host), port), ":"), err
}

// target is the value of @path or @target-uri: RFC 9421, sections 2.2.6 and 2.2.2.
func (m *message) target(name string) (string, error) {
	if m.url.Opaque != "" {
		return "", errors.New("an opaque URL has no path")
	}
	if name == "@path" {
		return cmp.Or(m.url.EscapedPath(), "/"), nil
	}
	host, err := m.authority()
	return m.scheme + "://" + host + m.url.RequestURI(), err
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
