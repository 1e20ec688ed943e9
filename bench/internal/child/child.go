// Package child runs the program itself again, as a process that gets a job and sends
// reports. So each process of a measurement has its own memory and processor time.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// variable is the environment variable in which a process finds its job.
const variable = "POLITE_BENCH_JOB"

// Job reads the job of this process. It reports false in the process that a user started.
func Job(job any) (bool, error) {
	text := os.Getenv(variable)
	if text == "" {
		return false, nil
	}
	return true, json.Unmarshal([]byte(text), job)
}

// Report sends v to the parent.
func Report(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

var input = bufio.NewReader(os.Stdin)

// Wait waits for [Process.Continue]. The error is io.EOF if the parent has ended.
func Wait() error {
	_, err := input.ReadString('\n')
	return err
}

// A Process is a child.
type Process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// Start starts a process with a job. It is killed when ctx ends.
func Start(ctx context.Context, job any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	p := &Process{command: exec.CommandContext(ctx, self)}
	p.command.Env = append(os.Environ(), variable+"="+string(text))
	p.command.Stderr = os.Stderr
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	return p, p.command.Start()
}

// Continue ends a call of Wait in the process.
func (p *Process) Continue() error {
	_, err := io.WriteString(p.in, "\n")
	return err
}

// Receive waits for a report.
func (p *Process) Receive(v any) error {
	if err := p.out.Decode(v); err != nil {
		return fmt.Errorf("a process ended without its report: %w", err)
	}
	return nil
}

// Stop kills the process and waits for its end.
func (p *Process) Stop() {
	p.command.Process.Kill()
	p.command.Wait()
}
