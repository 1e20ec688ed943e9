// Package vectors reads the test vectors of the folder vectors; its README.md explains them.
package vectors

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Vector is one line.
type Vector struct {
	ID      string
	Robots  string
	B64     []byte `json:"robots_b64"` // the file instead of Robots, if it is no text
	Agent   string
	URL     string
	Allowed bool
	Class   string
}

// File returns the robots.txt.
func (v Vector) File() []byte {
	if v.B64 != nil {
		return v.B64
	}
	return []byte(v.Robots)
}

// Read reads a file of vectors.
func Read(name string) (list []Vector, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := json.NewDecoder(bufio.NewReader(f)); lines.More(); {
		var v Vector
		if err := lines.Decode(&v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, v)
	}
	return list, nil
}
