//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// ftpSite starts an FTP server on loopback that sends one text whatever is requested.
func ftpSite(t *testing.T, text string) (origin string) {
	t.Helper()
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Skip("no loopback: ", err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	control, data := listen(), listen()
	replies := map[string]string{
		"USER": "230 in", "TYPE": "200 binary", "EPSV": fmt.Sprintf("229 passive (|||%d|)", data.Addr().(*net.TCPAddr).Port), "RETR": "150 here",
	}
	go func() { // ends with the listener
		for {
			conn, err := control.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "220 ready\r\n")
			for in := bufio.NewScanner(conn); in.Scan(); {
				command, _, _ := strings.Cut(in.Text(), " ")
				if _, ok := replies[command]; !ok {
					fmt.Fprint(conn, "500 what\r\n")
					continue
				}
				fmt.Fprint(conn, replies[command], "\r\n")
				if command != "RETR" {
					continue
				}
				if to, err := data.Accept(); err == nil {
					io.WriteString(to, text)
					to.Close()
				}
				fmt.Fprint(conn, "226 sent\r\n")
			}
			conn.Close()
		}
	}()
	return "ftp://" + control.Addr().String()
}

// TestFTP runs the program against an FTP server (RFC 9309, section 2.3).
func TestFTP(t *testing.T) {
	const text = "User-agent: *\nDisallow: /private\n"
	site := ftpSite(t, text)
	for _, tt := range []struct{ name, args, want string }{
		{"2.3/check", "check " + site + "/private", `DISALLOW  ` + site + `/private  line 2 "Disallow: /private" in group *`},
		{"2.3/get", "get --gap 0s " + site + "/public", text},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := startProcess(t, "", strings.Fields(tt.args)...)
			if out, err := io.ReadAll(p.lines); !strings.HasPrefix(string(out), tt.want) || err != nil {
				t.Errorf("polite %s\ngot  %s%s\nwant %s", tt.args, out, &p.errs, tt.want)
			}
			p.Wait()
		})
	}
}
