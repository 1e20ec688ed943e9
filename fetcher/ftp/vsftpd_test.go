package ftp_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// vsftpd starts Debian's FTP server on loopback with a folder of files. It ends with the
// test.
func vsftpd(t *testing.T, folder, settings string) (address string) {
	t.Helper()
	program, err := exec.LookPath("vsftpd")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/vsftpd")
	}
	if err != nil {
		if os.Getenv("POLITE_REQUIRE_VSFTPD") == "1" {
			t.Fatalf("POLITE_REQUIRE_VSFTPD=1, but there is no vsftpd: %v", err)
		}
		t.Skip("no vsftpd on this machine")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback: ", err)
	}
	address = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	conf := filepath.Join(t.TempDir(), "vsftpd.conf")
	text := fmt.Sprintf("listen=YES\nlisten_address=127.0.0.1\nlisten_port=%s\nbackground=NO\nrun_as_launching_user=YES\nseccomp_sandbox=NO\n"+
		"anonymous_enable=YES\nlocal_enable=NO\nanon_root=%s\nallow_writeable_chroot=YES\nxferlog_enable=NO\n%s", port, folder, settings)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(program, conf)
	var said strings.Builder
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
		if time.Now().After(end) {
			t.Fatal("vsftpd does not answer: ", said.String())
		}
	}
}

// TestVsftpd fetches files from a real server.
func TestVsftpd(t *testing.T) {
	folder := t.TempDir()
	big := strings.Repeat("0123456789abcde\n", 200_000)
	for name, content := range map[string]string{"robots.txt": text, "pub/a b\u00fc": "page", "pub/big": big, "pub/empty": "", "pub/closed": "x"} {
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, settings, path string
		status               int
		body                 string
	}{
		{"a_file", "", "/robots.txt", 200, text},
		{"a_name_beyond_ascii", "", "/pub/a%20b%C3%BC", 200, "page"},
		{"3_MB", "", "/pub/big", 200, big},
		{"an_empty_file", "", "/pub/empty", 200, ""},
		{"no_file", "", "/nothing", 404, ""},
		{"a_folder", "", "/pub/", 404, ""},
		{"no_path", "", "", 404, ""},
		{"a_file_that_is_not_shown", "deny_file={closed}\n", "/pub/closed", 404, ""},
		{"no_anonymous_login", "anonymous_enable=NO\nlocal_enable=YES\n", "/robots.txt", 401, ""},
		{"pasv_names_another_address", "cmds_denied=EPSV\npasv_address=127.0.0.2\n", "/robots.txt", 200, text},
		{"no_size", "cmds_denied=SIZE\n", "/robots.txt", 200, text},
	} {
		t.Run("4.5/"+tt.name, func(t *testing.T) {
			status, body, err := get(t.Context(), "ftp://"+vsftpd(t, folder, tt.settings)+tt.path)
			if status != tt.status || body != tt.body || err != nil {
				t.Errorf("got  %d, %.50q, %v\nwant %d, %.50q", status, body, err, tt.status, tt.body)
			}
		})
	}
	t.Run("4.5/too_many_connections", func(t *testing.T) {
		address := vsftpd(t, folder, "max_clients=1\n")
		for greeting := make([]byte, 3); string(greeting) != "220"; { // the connection that found the server ready may count for a moment
			first, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer first.Close()
			if _, err := io.ReadFull(first, greeting); err != nil {
				t.Fatal(err)
			}
		}
		var f *policy.Failure
		if _, _, err := get(t.Context(), "ftp://"+address+"/robots.txt"); !errors.As(err, &f) || f.Class != policy.Connect || !strings.Contains(err.Error(), "421") {
			t.Errorf("got  %v\nwant a failure of class connect, with 421", err)
		}
	})
}
