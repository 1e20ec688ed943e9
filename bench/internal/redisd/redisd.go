// Package redisd starts Redis servers on loopback and reads their counts.
package redisd

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// startTime bounds how long the servers may take to start.
const startTime = 20 * time.Second

// server is a running redis-server.
type server struct {
	command *exec.Cmd
	folder  string
	port    int
	client  rueidis.Client
}

// Servers are running servers: none, one, or a cluster.
type Servers []*server

// Start starts n servers of a program; more than one become a cluster. If the error is nil,
// Stop ends them.
func Start(program string, n int) (all Servers, err error) {
	defer func() {
		if err != nil {
			all.Stop()
		}
	}()
	for range n {
		var args []string
		if n > 1 {
			bus, err := freePort()
			if err != nil {
				return all, err
			}
			args = []string{"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus)}
		}
		s, err := startServer(program, args...)
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	if n > 1 {
		err = all.join()
	}
	return all, err
}

// startServer starts a server with a folder of its own and waits until it answers.
func startServer(program string, args ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "polite-redis")
	if err != nil {
		return nil, err
	}
	args = append([]string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder}, args...)
	s := &server{command: exec.Command(program, args...), folder: folder, port: port}
	if err := s.command.Start(); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	option := rueidis.ClientOption{InitAddress: []string{s.address()}, ForceSingleClient: true, DisableCache: true}
	for end := time.Now().Add(startTime); ; time.Sleep(10 * time.Millisecond) {
		if s.client, err = rueidis.NewClient(option); err == nil {
			return s, nil
		}
		if time.Now().After(end) {
			s.stop()
			return nil, fmt.Errorf("%s does not answer: %w", program, err)
		}
	}
}

// freePort returns a port that nobody uses.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *server) address() string { return fmt.Sprint("127.0.0.1:", s.port) }

// stop ends the server and removes its folder.
func (s *server) stop() {
	if s.client != nil {
		s.client.Close()
	}
	s.command.Process.Kill()
	s.command.Wait()
	os.RemoveAll(s.folder)
}

// Stop ends the servers and removes their folders.
func (all Servers) Stop() {
	for _, s := range all {
		s.stop()
	}
}

// do runs a command and returns its answer.
func (s *server) do(words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	answer, err := s.client.Do(ctx, s.client.B().Arbitrary(words...).Build()).ToAny()
	if err != nil {
		return "", fmt.Errorf("redis: %s: %w", words[0], err)
	}
	return fmt.Sprint(answer), nil
}

// join makes the servers a cluster and waits until it works.
func (all Servers) join() error {
	const slots = 16384
	for i, s := range all {
		first, last := i*slots/len(all), (i+1)*slots/len(all)-1
		commands := [][]string{
			{"CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i + 1)},
			{"CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(last)},
		}
		for _, other := range all[:i] {
			bus := other.command.Args[len(other.command.Args)-1]
			commands = append(commands, []string{"CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(other.port), bus})
		}
		for _, c := range commands {
			if _, err := s.do(c...); err != nil {
				return err
			}
		}
	}
	for end := time.Now().Add(startTime); !all.joined(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("redis: the servers are no cluster after %v", startTime)
		}
	}
	return nil
}

// joined reports whether all servers know each other and who has which slots.
func (all Servers) joined() bool {
	for _, s := range all {
		info, err := s.do("CLUSTER", "INFO")
		if err != nil || !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", len(all))) {
			return false
		}
	}
	return true
}

// URL is the URL for redis.Open; empty without servers.
func (all Servers) URL() string {
	if len(all) == 0 {
		return ""
	}
	u := url.URL{Scheme: "redis", Host: all[0].address()}
	others := url.Values{}
	for _, s := range all[1:] {
		others.Add("addr", s.address())
	}
	u.RawQuery = others.Encode()
	return u.String()
}

var (
	callsOf  = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)
	secondOf = regexp.MustCompile(`used_cpu_(?:sys|user):([\d.]+)`)
)

// Load returns the calls of each command so far, those in scripts included, and the
// processor time, of all servers.
func (all Servers) Load() (calls map[string]int, cpu time.Duration, err error) {
	calls = map[string]int{}
	for _, s := range all {
		info, err := s.do("INFO", "everything")
		if err != nil {
			return nil, 0, err
		}
		for _, m := range callsOf.FindAllStringSubmatch(info, -1) {
			n, _ := strconv.Atoi(m[2])
			calls[m[1]] += n
		}
		for _, m := range secondOf.FindAllStringSubmatch(info, -1) {
			seconds, _ := strconv.ParseFloat(m[1], 64)
			cpu += time.Duration(seconds * float64(time.Second))
		}
	}
	return calls, cpu, nil
}
