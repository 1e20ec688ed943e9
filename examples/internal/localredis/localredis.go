// Package localredis starts a Redis server on loopback for an example.
package localredis

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// Start starts a server that writes nothing to disk, and waits until it accepts
// connections. POLITE_REDIS_SERVER can name another program that speaks the protocol,
// such as valkey-server. The caller must end the process.
func Start() (*exec.Cmd, string, error) {
	program, err := exec.LookPath(cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server"))
	if err != nil {
		return nil, "", err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	host, port, _ := net.SplitHostPort(address)
	server := exec.Command(program, "--bind", host, "--port", port, "--save", "", "--appendonly", "no")
	if err := server.Start(); err != nil {
		return nil, "", err
	}
	for range 500 {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
			return server, address, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	server.Process.Kill()
	return nil, "", errors.Join(fmt.Errorf("%s does not answer at %s", program, address), server.Wait())
}

// freeAddress returns a free loopback address.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
