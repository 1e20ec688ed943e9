package ftp_test

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// server is a small FTP server on loopback with one file. Its replies can be replaced.
type server struct {
	t        *testing.T
	file     string
	replies  map[string]string   // by command, and by GREETING and AFTER; "hang" waits, "close" closes, "..." breaks off
	send     func(net.Conn) bool // sends the file; false closes both connections
	address  string
	mu       sync.Mutex
	commands []string
	stop     func() // closes the server and waits until its connections have ended
}

// start starts the server, which ends with the test.
func (s *server) start(t *testing.T, host string) *server {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skip("no loopback address ", host, ": ", err)
	}
	var open sync.WaitGroup
	s.t, s.address, s.stop = t, l.Addr().String(), func() { l.Close(); open.Wait() }
	t.Cleanup(s.stop)
	open.Go(func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { // ends with the connection
				defer conn.Close()
				s.serve(conn, host)
			})
		}
	})
	return s
}

// url returns the URL of a path.
func (s *server) url(path string) string { return "ftp://" + s.address + path }

// received returns the commands so far.
func (s *server) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

// serve answers commands until the connection ends.
func (s *server) serve(conn net.Conn, host string) {
	in := bufio.NewReader(conn)
	// say sends the reply, or the one in its place, and returns whether the session goes on.
	say := func(command, reply string) bool {
		if own, ok := s.replies[command]; ok {
			reply = own
		}
		if reply == "hang" {
			in.ReadByte() // ends with the connection
		}
		if reply == "hang" || reply == "close" {
			return false
		}
		if part, ok := strings.CutSuffix(reply, "..."); ok {
			fmt.Fprint(conn, part)
			return false
		}
		_, err := fmt.Fprintf(conn, "%s\r\n", reply)
		return err == nil
	}
	data, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		s.t.Error(err)
		return
	}
	defer data.Close()
	port := data.Addr().(*net.TCPAddr).Port
	usual := map[string]string{
		"USER": "331 password", "PASS": "230-welcome\r\n230 in", "TYPE": "200 binary", "SIZE": fmt.Sprintf("213 %d", len(s.file)),
		"EPSV": fmt.Sprintf("229 passive (|||%d|)", port),
		"PASV": fmt.Sprintf("227 passive (127,0,0,2,%d,%d)", port>>8, port&0xff), // another address, where nobody listens
		"RETR": "150 here it comes", "QUIT": "221 bye",
	}
	for more := say("GREETING", "220 ready"); more; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.mu.Lock()
		s.commands = append(s.commands, line)
		s.mu.Unlock()
		command, _, _ := strings.Cut(line, " ")
		more = say(command, cmp.Or(usual[command], "500 what")) && command != "QUIT"
		if command == "RETR" && more && s.replies[command] == "" {
			more = s.transfer(data) && say("AFTER", "226 sent")
		}
	}
}

// transfer sends the file.
func (s *server) transfer(l net.Listener) bool {
	conn, err := l.Accept()
	if err != nil {
		return false
	}
	defer conn.Close()
	if s.send != nil {
		return s.send(conn)
	}
	_, err = conn.Write([]byte(s.file))
	return err == nil
}
