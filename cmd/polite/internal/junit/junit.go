// Package junit writes results in the XML of JUnit, with the elements that all readers know.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
)

// A Suite is a set of results.
type Suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr,omitempty"`
	Cases    []Case   `xml:"testcase"`
}

// A Case is one result. At most one of Failure and Skip is set.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *message `xml:"failure"`
	Skip    *message `xml:"skipped"`
}

type message struct {
	Text string `xml:"message,attr"`
}

// Add adds a result. It passed if why is empty.
func (s *Suite) Add(class, name, why string) {
	c := Case{Class: class, Name: name}
	if s.Tests++; why != "" {
		s.Failures++
		c.Failure = &message{why}
	}
	s.Cases = append(s.Cases, c)
}

// Skip adds a case without a result.
func (s *Suite) Skip(class, name, why string) {
	s.Tests++
	s.Skipped++
	s.Cases = append(s.Cases, Case{Class: class, Name: name, Skip: &message{why}})
}

// Write writes the suite.
func (s *Suite) Write(w io.Writer) error {
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
