package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rfc9309/polite/matcher"
)

// A job is a robots.txt file and the targets that are matched with it.
type job struct {
	name    string
	body    []byte
	targets []string
}

// fileOfLines returns a file whose default group has n lines. line makes each of them.
func fileOfLines(n int, line func(i int) string) []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range n {
		b.WriteString(line(i))
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func plainRule(i int) string { return fmt.Sprintf("Disallow: /section%d/page%d/", i%97, i) }

func mixedRule(i int) string {
	switch i % 10 {
	case 0:
		return fmt.Sprintf("Disallow: /section%d/*/print%d", i%97, i)
	case 1:
		return fmt.Sprintf("Disallow: /*.type%d$", i)
	case 2:
		return fmt.Sprintf("Allow: /section%d/page%d/open", i%97, i)
	}
	return plainRule(i)
}

// ruleFiles returns files of n rules, without and with wildcards. One target
// matches a rule, the other matches none.
func ruleFiles(n int) []job {
	hit := n/2 - n/2%10 + 5
	targets := []string{fmt.Sprintf("/section%d/page%d/x.html", hit%97, hit), "/article/2024/some-title.html?ref=home"}
	var jobs []job
	for i, target := range targets {
		name := fmt.Sprintf("%d rules, %s", n, []string{"hit", "miss"}[i])
		jobs = append(jobs,
			job{name, fileOfLines(n, plainRule), []string{target}},
			job{name + ", wildcards", fileOfLines(n, mixedRule), []string{target}})
	}
	return jobs
}

// agents returns a file of 5,000 groups. The last one is the crawler's.
func agents() job {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "User-agent: bot%s\nDisallow: /private%d/\n\n", strings.Repeat("abcdefghij"[i%10:i%10+1], 1+i/10), i)
	}
	b.WriteString("User-agent: " + token + "\nDisallow: /x/\n")
	return job{"5,000 agents", []byte(b.String()), []string{"/x/y", "/y/x"}}
}

// fileOf500KiB returns a file of 500 KiB.
func fileOf500KiB(line func(i int) string) []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := 0; ; i++ {
		l := line(i)
		if b.Len()+len(l)+1 > 500<<10 {
			return []byte(b.String())
		}
		b.WriteString(l + "\n")
	}
}

// threeBytes returns the i-th of 46,656 different strings of three bytes.
func threeBytes(i int) string {
	const abc = "abcdefghijklmnopqrstuvwxyz0123456789"
	return string([]byte{abc[i%36], abc[i/36%36], abc[i/36/36%36]})
}

// hostile returns files of 500 KiB and targets of 2 KiB that are costly to match.
func hostile() []job {
	long := func(s string) string { return "/" + strings.Repeat(s, 2048/len(s)+1)[:2047] }
	var grams strings.Builder
	for i := 0; grams.Len() < 2040; i++ {
		grams.WriteString(threeBytes(i))
	}
	target := "/" + grams.String()
	repeat := strings.Repeat
	return []job{
		{"500 KiB of /*xyz", fileOf500KiB(func(i int) string { return "Disallow: /*" + threeBytes(i) + threeBytes(i/7) }), []string{target, long("a")}},
		{"25,000 equal /*xyz", fileOfLines(25000, func(int) string { return "Disallow: /*xyz" }), []string{long("xy"), long("a")}},
		{"one rule of 500 stars", fileOfLines(1, func(int) string { return "Disallow: /" + repeat("*a", 500) + "b" }), []string{long("a")}},
		{"one rule of 200,000 stars", fileOfLines(1, func(int) string { return "Disallow: /" + repeat("*a", 200000) + "b" }), []string{long("a")}},
		{"rules of 1,000 stars", fileOf500KiB(func(i int) string { return "Disallow: /" + repeat("*a", 1000) + threeBytes(i) }), []string{long("a")}},
		{"shared prefixes", fileOf500KiB(func(i int) string { return "Disallow: /" + repeat("a", i%1000) + threeBytes(i) }), []string{long("a")}},
		{"nested prefixes", fileOf500KiB(func(i int) string { return "Allow: /" + repeat("a", i%1000) }), []string{long("a")}},
		{"nested pieces", fileOf500KiB(func(i int) string { return "Disallow: /*" + repeat("a", i%1000) + "b" }), []string{long("a")}},
		{"nested pieces never reached", fileOf500KiB(func(i int) string { return "Disallow: /*z*" + repeat("a", i%1000) }), []string{long("a")}},
		{"nested pieces reached", fileOf500KiB(func(i int) string { return "Disallow: /*" + repeat("a", i%1000) + "*c" }), []string{long("a")}},
		{"states for every place", fileOf500KiB(func(i int) string { return "Disallow: /*" + target[1+i%2000:1+i%2000+2+i/2000] + "*~" }), []string{target}},
		{"states with one piece", fileOf500KiB(func(i int) string { return "Disallow: /*" + target[1+i%2000:1+i%2000+2+i/2000] + "*a$" }), []string{target, long("a")}},
		{"nested after nested pieces", fileOf500KiB(func(i int) string { return "Disallow: /*" + repeat("a", 1+i%680) + "*" + repeat("a", 1+i%680) + "*b" }), []string{long("a")}},
		{"nested pieces nearly", fileOf500KiB(func(i int) string { return "Disallow: /*" + repeat("a", 1+i%980) + "*b" }), []string{long("aaab"), long("a")}},
		{"a state at every place", fileOf500KiB(func(i int) string {
			if i == 0 {
				return "Disallow: /" + repeat("*a", 2040) + "*b"
			}
			return "Disallow: /*x*" + repeat("a", 1+i%960) + "*b"
		}), []string{long("a")}},
		{"1,000 stars at random", fileOf500KiB(starRules(1000, "ab", "*~")), []string{long("ab")}},
		{"100 stars at random", fileOf500KiB(starRules(100, "ab", "*~")), []string{long("ab"), "/?%2F" + repeat("ab", 1000)}},
		{"15 stars at random", fileOf500KiB(starRules(15, "abcd", "*~")), []string{long("abcd")}},
		{"150 stars, many short rules", fileOf500KiB(func(i int) string {
			if i%3 == 0 {
				return "Disallow: /" + repeat("*a", 150)
			}
			return "Disallow: /*" + threeBytes(i)
		}), []string{long("*$")}},
		{"pieces of 150 bytes", fileOf500KiB(func(i int) string {
			return "Allow: /*" + target[1:130] + threeBytes(i)
		}), []string{long("*" + target[1:130]), long("*" + target[1:4])}},
		{"300 pieces of the target", fileOf500KiB(pieceRules(300, target)), []string{target}},
		{"100 pieces of the target", fileOf500KiB(pieceRules(100, target)), []string{target}},
		{"10 pieces of the target", fileOf500KiB(pieceRules(10, target)), []string{target}},
		{"2 pieces of the target", fileOf500KiB(pieceRules(2, target)), []string{target}},
		{"one long line", []byte("User-agent: *\nDisallow: /" + repeat("a", 500<<10)), []string{long("a")}},
		{"one long line of %41", []byte("User-agent: *\nDisallow: /" + repeat("%41", 170<<10)), []string{long("A")}},
		{"agents", fileOf500KiB(func(i int) string { return fmt.Sprintf("User-agent: a%d\nDisallow: /*%s", i, threeBytes(i)) }), []string{target}},
		{"agents of one name", fileOf500KiB(func(i int) string { return fmt.Sprintf("User-agent: *\nDisallow: /*%s", threeBytes(i)) }), []string{target}},
		{"agents without rules", fileOf500KiB(func(i int) string { return fmt.Sprintf("User-agent: a%d", i) }), []string{target}},
		{"line ends", []byte(repeat("\r", 500<<10)), []string{target}},
		{"other records", fileOf500KiB(func(int) string { return "x:" }), []string{target}},
		{"no records", fileOf500KiB(func(int) string { return "x" }), []string{target}},
	}
}

// starRules returns random rules of n stars, each followed by one of the letters.
func starRules(n int, letters, end string) func(i int) string {
	return func(i int) string {
		r := rand.New(rand.NewPCG(uint64(i), 0))
		var b strings.Builder
		for range n {
			b.WriteByte('*')
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return "Disallow: /" + b.String() + end
	}
}

// pieceRules returns random rules. Each has n pieces of two bytes, in the order in which
// the target has them, and then a byte that the target does not have.
func pieceRules(n int, target string) func(i int) string {
	return func(i int) string {
		places := rand.New(rand.NewPCG(uint64(i), 0)).Perm(len(target) / 2)[:n]
		slices.Sort(places)
		var b strings.Builder
		for _, p := range places {
			b.WriteString("*" + target[2*p:2*p+2])
		}
		return "Disallow: /" + b.String() + "*~"
	}
}

// realFiles reads at most most robots.txt files of a folder, in a random order that is always the
// same. The targets are made from their rules.
func realFiles(dir string, most int) ([]job, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var jobs []job
	for _, name := range names[:min(len(names), most)] {
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job{filepath.Base(name), body, targets(body)})
	}
	if len(jobs) == 0 && err == nil {
		err = fmt.Errorf("%s has no files", dir)
	}
	return jobs, err
}

// everyNth returns every n-th element of list.
func everyNth[T any](list []T, n int) []T {
	var some []T
	for i := 0; i < len(list); i += max(n, 1) {
		some = append(some, list[i])
	}
	return some
}

// targets makes request targets from the rules of a file. For each rule there is one
// target that it matches, and one in a folder that no rule names.
func targets(body []byte) []string {
	list := []string{"/", "/index.html"}
	for r := range matcher.Parse(body, matcher.Dialect{}).Group(token).Rules() {
		if len(list) == 10 {
			break
		}
		t := strings.TrimSuffix(strings.ReplaceAll(r.Pattern, "*", "x"), "$")
		if strings.ContainsFunc(t, func(c rune) bool { return c <= ' ' || c > '~' }) {
			continue
		}
		if !strings.HasPrefix(t, "/") {
			t = "/" + t
		}
		list = append(list, t+"a", "/zq7"+t)
	}
	return list
}
