// Package manual writes the manual page of a program, in the language of man, from its
// commands and flags.
package manual

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Write writes one page for a program and all of its commands.
func Write(w io.Writer, root *cobra.Command) error {
	p := page{bufio.NewWriter(w)}
	name := root.Name()
	p.line(`.TH "%s" "1" "" "%s %s"`, strings.ToUpper(name), name, escape(root.Version))
	p.line(".SH NAME\n%s \\- %s", name, escape(lowerFirst(root.Short)))
	p.line(".SH SYNOPSIS")
	for i, c := range root.Commands() {
		if i > 0 {
			p.line(".br")
		}
		p.line(".B %s", escape(c.UseLine()))
	}
	p.line(".SH DESCRIPTION")
	p.text(root.Long)
	p.line(".SH COMMANDS")
	for _, c := range root.Commands() {
		p.command(c)
	}
	p.line(".SH ENVIRONMENT")
	p.item("POLITE_AGENT", "The User-Agent of all requests, unless --agent is given.")
	p.item("NO_COLOR", "If it is set, no colours are used.")
	return p.w.Flush()
}

// page is a manual page that is being written.
type page struct{ w *bufio.Writer }

func (p page) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// item writes a term and its explanation.
func (p page) item(term, text string) {
	p.line(".TP\n.B %s\n%s", escape(term), escape(text))
}

// command writes the section of one command.
func (p page) command(c *cobra.Command) {
	p.line(".SS %s", escape(c.CommandPath()))
	p.text(c.Long)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		if value != "" {
			term += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" {
			usage += " (default " + f.DefValue + ")"
		}
		p.item(term, usage)
	})
	if c.Example != "" {
		p.line(".P\nExamples:\n.P")
		p.block(c.Example)
	}
}

// text writes paragraphs. Indented ones are shown as they are.
func (p page) text(s string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			p.line(".P")
		}
		if strings.HasPrefix(paragraph, "  ") {
			p.block(paragraph)
		} else {
			p.line("%s", escape(paragraph))
		}
	}
}

// block writes lines as they are.
func (p page) block(s string) { p.line(".nf\n%s\n.fi", escape(s)) }

// escape returns text without what man takes for a command.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
