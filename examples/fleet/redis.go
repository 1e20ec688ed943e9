package main

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"time"
)

// startRedis starts a server that writes nothing to disk, and waits until it accepts
// connections. The caller must end the process.
func startRedis() (*exec.Cmd, string, error) {
	program, err := exec.LookPath("redis-server")
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
	return nil, "", errors.Join(fmt.Errorf("redis-server does not answer at %s", address), server.Wait())
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
