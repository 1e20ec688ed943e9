// Command exam lets well-known crawlers sit the exam of polite, one after another, and prints
// a table of what each has passed and failed, with the command line of each.
//
//	exam/install FOLDER
//	go run ./exam -npm FOLDER [-only REGEXP] [-write]
//
// A crawler that is not installed is left out, and the table says so. With -write the table
// takes its place in docs/exam.md.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A crawler is a program that sits the exam. NPM and BIN in its words stand for folders.
type crawler struct {
	name    string
	version []string // the command that prints the version
	command []string
	note    string // which program or switch is meant
	token   string // its product token, "" if the User-Agent begins with it
}

var crawlers = []crawler{
	{"GNU Wget", []string{"wget", "--version"},
		[]string{"wget", "--recursive", "--level", "2", "--span-hosts", "--quiet", "{urls}"}, "", ""},
	{"GNU Wget2", []string{"wget2", "--version"},
		[]string{"wget2", "--recursive", "--level=2", "--span-hosts", "--quiet", "{urls}"}, "", ""},
	{"HTTrack", []string{"httrack", "--version"},
		[]string{"httrack", "{urls}", "-r3", "-e", "-q", "--disable-security-limits", "-%c50", "-c16", "-A100000000", "-T8", "-R0"}, "", ""},
	{"Scrapy", []string{"scrapy", "version"},
		[]string{"scrapy", "runspider", "--nolog", "-s", "ROBOTSTXT_OBEY=True", "-s", "DEPTH_LIMIT=3", "-a", "file={file}", "NPM/crawl.py"}, "bench/exam/crawl.py", ""},
	{"Colly", []string{"go", "list", "-m", "github.com/gocolly/colly/v2"},
		[]string{"BIN/colly", "{urls}"}, "bench/exam/colly, with IgnoreRobotsTxt = false", ""},
	{"gocrawl", []string{"go", "list", "-m", "github.com/PuerkitoBio/gocrawl"},
		[]string{"BIN/gocrawl", "{urls}"}, "bench/exam/gocrawl", ""},
	{"Crawlee", []string{"npm", "ls", "--prefix", "NPM", "@crawlee/cheerio"},
		[]string{"node", "NPM/crawlee.mjs", "{urls}"}, "bench/exam/crawlee.mjs, with respectRobotsTxtFile", "Crawlee"},
	{"simplecrawler", []string{"npm", "ls", "--prefix", "NPM", "simplecrawler"},
		[]string{"node", "NPM/simplecrawler.cjs", "{urls}"}, "bench/exam/simplecrawler.cjs", ""},
	{"Polite", []string{"git", "describe", "--always"},
		[]string{"BIN/workers", "{urls}"}, "examples/workers", ""},
}

// sheet is what is read of a report.
type sheet struct {
	Agent    string `json:"user_agent"`
	Requests int    `json:"requests"`
	Ended    string `json:"ended"`
	Results  []struct {
		Name    string `json:"name"`
		Level   string `json:"level"`
		Verdict string `json:"verdict"`
	} `json:"results"`
}

func main() {
	npm := flag.String("npm", "", "`folder` of the npm packages")
	only := flag.String("only", "", "only the crawlers whose name matches the `regexp`")
	write := flag.Bool("write", false, "write the table into ../docs/exam.md")
	flag.Parse()
	log.SetFlags(0)
	wanted, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	table, err := hold(*npm, wanted)
	if err != nil {
		log.Fatal(err)
	}
	if *write {
		err = insert("../docs/exam.md", table)
	} else {
		_, err = os.Stdout.WriteString(table)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// hold lets the crawlers sit the exam and returns the table.
func hold(npm string, wanted *regexp.Regexp) (string, error) {
	bin, err := os.MkdirTemp("", "polite-exam")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(bin)
	if npm == "" {
		npm = bin
	}
	if err := prepare(bin, npm); err != nil {
		return "", err
	}
	folders := strings.NewReplacer("NPM", npm, "BIN", bin)
	var rows, lines strings.Builder
	var absent []string
	for _, c := range crawlers {
		if !wanted.MatchString(c.name) {
			continue
		}
		version, err := run(bin, folders, c.version)
		v := number.FindString(string(version))
		if err != nil || v == "" {
			absent = append(absent, c.name)
			continue
		}
		log.Printf("%s %s", c.name, v)
		exam := []string{"BIN/polite", "exam", "--json", "--limit", "6m", "--quiet", "20s"}
		if c.token != "" {
			exam = append(exam, "--token", c.token)
		}
		report, err := run(bin, folders, append(append(exam, "--"), c.command...))
		var s sheet
		if jsonErr := json.Unmarshal(report, &s); jsonErr != nil {
			return "", fmt.Errorf("%s: %v: %w", c.name, err, jsonErr)
		}
		row, failed := s.row(c.name + " " + v)
		rows.WriteString(row)
		fmt.Fprintf(&lines, "- **%s**: `%s`", c.name, strings.NewReplacer("NPM/", "", "BIN/", "").Replace(strings.Join(c.command, " ")))
		if c.note != "" {
			fmt.Fprintf(&lines, " (%s)", c.note)
		}
		if c.token != "" {
			fmt.Fprintf(&lines, ", examined with `--token %s`", c.token)
		}
		fmt.Fprintf(&lines, ". %d requests; the crawler %s. Failed: %s.\n", s.Requests, s.Ended, cmp.Or(failed, "nothing"))
	}
	text := "| crawler | RFC 9309: passed | failed | not exercised | manners: passed | failed | not exercised |\n" +
		"|---|---|---|---|---|---|---|\n" + rows.String() + "\n" + lines.String()
	if len(absent) > 0 {
		text += "\nNot to be had where this was measured: " + strings.Join(absent, ", ") + ".\n"
	}
	return text, nil
}

// prepare builds the programs in the folder bin and copies the scripts to the folder npm.
func prepare(bin, npm string) error {
	for _, build := range [][]string{{"..", "polite", "./cmd/polite"}, {".", "colly", "./exam/colly"}, {".", "gocrawl", "./exam/gocrawl"}, {"../examples", "workers", "./workers"}} {
		c := exec.Command("go", "build", "-o", filepath.Join(bin, build[1]), build[2])
		c.Dir, c.Stderr = build[0], os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
	}
	// A script finds its packages in the folder that it is in.
	for _, script := range []string{"crawl.py", "crawlee.mjs", "simplecrawler.cjs"} {
		text, err := os.ReadFile(filepath.Join("exam", script))
		if err == nil {
			err = os.WriteFile(filepath.Join(npm, script), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// number finds a version.
var number = regexp.MustCompile(`\d+\.[\d.]*\d|[0-9a-f]{7,}`)

// run runs a command in an empty folder and returns what it prints.
func run(bin string, folders *strings.Replacer, words []string) ([]byte, error) {
	words = append([]string(nil), words...)
	for i := range words {
		words[i] = folders.Replace(words[i])
	}
	c := exec.Command(words[0], words[1:]...)
	if words[0] != "go" && words[0] != "git" {
		dir, err := os.MkdirTemp(bin, "run")
		if err != nil {
			return nil, err
		}
		c.Dir = dir
	}
	return c.Output()
}

// row returns the line of the table for a report, and the names of the failed cases.
func (s *sheet) row(name string) (row, failures string) {
	count := map[bool]map[string]int{true: {}, false: {}}
	var failed []string
	for _, r := range s.Results {
		count[r.Level == "house"][r.Verdict]++
		if r.Verdict == "FAIL" {
			failed = append(failed, r.Name)
		}
	}
	rfc, manners := count[false], count[true]
	const rest = "not exercised"
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |\n", name, rfc["pass"], rfc["FAIL"], rfc[rest],
		manners["pass"], manners["FAIL"], manners[rest]), strings.Join(failed, ", ")
}

// insert puts the table in its place on a page.
func insert(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	const begin, end = "<!-- begin -->\n", "<!-- end -->"
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		return fmt.Errorf("%s: no place for the table", page)
	}
	return os.WriteFile(page, bytes.Join([][]byte{before, []byte(begin), []byte(table), []byte(end), after}, nil), 0o644)
}
