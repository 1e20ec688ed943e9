package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A driver is a program that answers for a library, in any language. It is named by the
// flag -driver 'NAME=command args'; the command is split at spaces.
//
// The driver reads requests from its standard input, each of which begins with a line
// that ends with a line feed:
//
//	file N          the next N bytes are a robots.txt, which all further questions are about
//	ask N TOKEN     the next N lines are URLs, which the crawler TOKEN wants to fetch
//
// There is no answer to file. The answer to ask is one line of N characters, 1 for a URL
// that may be fetched and 0 for one that may not. It must not stay in a buffer. TOKEN goes
// on to the end of the line. The driver ends with its input.
//
// drivers/robotparser.py is a driver, and so is this command with the flag -answer.
type driver struct {
	name string
	args []string
}

// drivers is the value of the flag.
type drivers []driver

func (d *drivers) String() string { return "" }

// Set adds the driver NAME=command args.
func (d *drivers) Set(value string) error {
	name, command, ok := strings.Cut(value, "=")
	args := strings.Fields(command)
	if !ok || name == "" || len(args) == 0 {
		return errors.New("want NAME=command args")
	}
	*d = append(*d, driver{name, args})
	return nil
}

// A process is a driver that runs. It starts again after a failure.
type process struct {
	driver
	patience time.Duration // for one answer
	failures int

	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	read *bufio.Reader
}

// patience is how long a driver may take for an answer, and failuresMost how often it
// may fail.
const (
	patience     = 10 * time.Second
	failuresMost = 20
)

// start starts the driver unless it runs.
func (p *process) start() (err error) {
	switch {
	case p.cmd != nil:
		return nil
	case p.failures >= failuresMost:
		return errors.New("failed too often")
	}
	cmd := exec.Command(p.args[0], p.args[1:]...)
	if p.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if p.out, err = cmd.StdoutPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		p.failures = failuresMost
		return err
	}
	p.cmd, p.read = cmd, bufio.NewReaderSize(p.out, 1<<16)
	return nil
}

// stop ends the driver. If it has failed, stop kills it.
func (p *process) stop(failed bool) {
	if p.cmd == nil {
		return
	}
	p.in.Close()
	late := time.AfterFunc(p.patience, func() { p.cmd.Process.Kill() })
	if failed {
		p.cmd.Process.Kill()
		p.out.Close()
	}
	p.cmd.Wait()
	late.Stop()
	p.cmd = nil
}

// do sends requests and returns the answer to the last of them, which has n
// characters. After an error the driver is started anew, and has no file.
func (p *process) do(n int, requests ...string) (answer string, err error) {
	if err := p.start(); err != nil {
		return "", err
	}
	hangs := make(chan bool, 1)
	late := time.AfterFunc(p.patience, func() {
		hangs <- true
		p.cmd.Process.Kill()
		p.out.Close()
	})
	for _, r := range requests {
		if _, e := io.WriteString(p.in, r); e != nil {
			err = cmp.Or(err, e)
		}
	}
	if err == nil {
		answer, err = p.read.ReadString('\n')
	}
	answer = strings.TrimRight(answer, "\r\n")
	switch {
	case !late.Stop() && <-hangs:
		err = fmt.Errorf("no answer for %v", p.patience)
	case err != nil:
		err = errors.New("died")
	case len(answer) != n || strings.Trim(answer, "01") != "":
		err = fmt.Errorf("answered %.40q to %d questions, which is no answer", answer, n)
	default:
		return answer, nil
	}
	p.failures++
	p.stop(true)
	return "", err
}

// fileRequest sends a file.
func fileRequest(body []byte) string { return "file " + strconv.Itoa(len(body)) + "\n" + string(body) }

// askRequest asks for URLs.
func askRequest(token string, urls []string) string {
	return fmt.Sprintf("ask %d %s\n%s\n", len(urls), token, strings.Join(urls, "\n"))
}

// answerFor is the driver of a Go library. The library named echo allows everything and
// reads no file: its time is the time of the pipe.
func answerFor(name string, in io.Reader, out io.Writer) error {
	echo := library{"echo", func([]byte, string) func(string) bool { return func(string) bool { return true } }}
	all := append(libraries(), echo)
	i := slices.IndexFunc(all, func(l library) bool { return l.name == name })
	if i < 0 {
		return fmt.Errorf("there is no library %q", name)
	}
	r := responder{library: all[i], lines: bufio.NewReaderSize(in, 1<<16), out: out}
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return nil
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		count, token, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(count)
		switch {
		case err != nil:
			return fmt.Errorf("%.40q is no request", line)
		case word == "file":
			r.body, r.allowed = make([]byte, n), nil
			_, err = io.ReadFull(r.lines, r.body)
		default:
			err = r.answer(token, n)
		}
		if err != nil {
			return err
		}
	}
}

// A responder answers for a library.
type responder struct {
	library
	lines   *bufio.Reader
	out     io.Writer
	body    []byte
	token   string
	allowed func(target string) bool // nil until token asks
}

// answer answers a token's questions about n URLs.
func (r *responder) answer(token string, n int) error {
	if r.allowed == nil || r.token != token {
		r.token, r.allowed = token, r.parse(r.body, token)
	}
	answer := make([]byte, 0, n+1)
	for range n {
		url, err := r.lines.ReadString('\n')
		if err != nil {
			return err
		}
		c := byte('0')
		if r.allowed(targetOf(strings.TrimSuffix(url, "\n"))) {
			c = '1'
		}
		answer = append(answer, c)
	}
	_, err := r.out.Write(append(answer, '\n'))
	return err
}

// targetOf returns the request target of a URL.
func targetOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 && rest[i] == '/' {
		return rest[i:]
	} else if i >= 0 {
		return "/" + rest[i:]
	}
	return "/"
}
