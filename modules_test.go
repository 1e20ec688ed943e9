package polite_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestModules checks which modules a program gets that imports a package, those of the tests
// of the package included, since go mod tidy adds them to the go.sum of the program: stores,
// and what the command line needs, stay out.
func TestModules(t *testing.T) {
	crawler := strings.Fields(`github.com/dunglas/httpsfv github.com/hashicorp/go-cleanhttp github.com/hashicorp/go-retryablehttp
		github.com/pquerna/cachecontrol golang.org/x/net golang.org/x/sync golang.org/x/text`)
	for name, want := range map[string][]string{
		"matcher": nil,
		"usage":   {"github.com/dunglas/httpsfv"},
		"policy":  {"github.com/dunglas/httpsfv", "github.com/pquerna/cachecontrol", "golang.org/x/net", "golang.org/x/text"},
		"fetcher": crawler,
		"inspect": crawler,
	} {
		list := exec.Command("go", "list", "-deps", "-test", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./"+name)
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(string(out))
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("package %s\ngot  %q\nwant %q", name, got, want)
		}
	}
}
