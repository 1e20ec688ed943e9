package matcher

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vector is one line of vectors/ours.jsonl; vectors/README.md explains it.
type vector struct {
	ID        string `json:"id"`
	Robots    string `json:"robots"`
	RobotsB64 string `json:"robots_b64"`
	Agent     string `json:"agent"`
	URL       string `json:"url"`
	Allowed   bool   `json:"allowed"`
	Class     string `json:"class"`
	Why       string `json:"why"`
}

func (v *vector) file() []byte {
	if v.RobotsB64 == "" {
		return []byte(v.Robots)
	}
	b, err := base64.StdEncoding.DecodeString(v.RobotsB64)
	if err != nil {
		panic(v.ID + ": " + err.Error())
	}
	return b
}

// vectors reads the project's own vectors, and those of other implementations
// if POLITE_CONFORMANCE names the folder that has them.
func vectors(t *testing.T) []vector {
	t.Helper()
	list := readVectors(t, filepath.Join("..", "vectors", "ours.jsonl"))
	if dir := os.Getenv("POLITE_CONFORMANCE"); dir != "" {
		list = append(list, readVectors(t, filepath.Join(dir, "peers.jsonl"))...)
	} else {
		t.Log("POLITE_CONFORMANCE is not set: the vectors of other implementations are not tried")
	}
	return list
}

func readVectors(t *testing.T, path string) []vector {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestVectors checks every vector that a dialect must pass.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		switch v.Class {
		case "rfc":
			v.check(t, "RFC9309", Dialect{})
			if !v.apart() {
				v.check(t, "Google", Google())
			}
		case "google":
			v.check(t, "Google", Google())
		}
	}
}

// apart reports whether the vector is of a topic in which google/robotstxt and
// RFC 9309 differ.
func (v *vector) apart() bool {
	topic := strings.Split(v.ID, "/")[2]
	return strings.HasPrefix(topic, "pct-") || topic == "robots-txt" || topic == "figure6" || topic == "long-line" ||
		strings.HasSuffix(v.URL, "/robots.txt")
}

func (v *vector) check(t *testing.T, name string, d Dialect) {
	t.Helper()
	_, id, _ := strings.Cut(v.ID, "/")
	t.Run(id+"/"+name, func(t *testing.T) {
		m := Parse(v.file(), d).Match(v.Agent, v.URL)
		if m.Allowed != v.Allowed {
			t.Errorf("robots %q\nagent %q url %q\ngot %+v\nwant allowed %v\n%s: %s", v.file(), v.Agent, v.URL, m, v.Allowed, v.ID, v.Why)
		}
		compare(t, testDialect{name, d}, string(v.file()), v.Agent, v.URL)
	})
}
