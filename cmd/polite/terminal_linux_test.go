package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/term"
)

// TestTerminal plays the transcripts for a terminal. In them ESC is written as ␛
// and CR as ␍.
func TestTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	playAll(t, "testdata/terminal/*.txt", newTerminal)
}

// newTerminal opens a pseudo terminal. The output is read at the end, so it must
// fit the terminal's buffer of a few kilobytes.
func newTerminal(t *testing.T, columns int) *terminal {
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("no pseudo terminal: %v", err)
	}
	var number, unlocked uint32
	size := [4]uint16{24, uint16(columns)}
	ioctl(t, far, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	ioctl(t, far, syscall.TIOCGPTN, unsafe.Pointer(&number))
	near, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	ioctl(t, near, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	if _, err := term.MakeRaw(int(near.Fd())); err != nil { // so that bytes pass unchanged
		t.Fatal(err)
	}
	return &terminal{near, func() string {
		near.Close()
		defer far.Close()
		text, err := io.ReadAll(far) // ends with EIO, because the other end is closed
		if len(text) == 0 {
			t.Fatalf("nothing was written to the terminal: %v", err)
		}
		return strings.NewReplacer("\x1b", "␛", "\r", "␍").Replace(string(text))
	}}
}

func ioctl(t *testing.T, f *os.File, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(argument)); e != 0 {
		t.Fatalf("ioctl %#x: %v", request, e)
	}
}
