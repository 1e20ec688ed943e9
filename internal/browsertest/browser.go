// Package browsertest opens pages in a headless Chromium, for tests of pages. It controls
// the browser over a pipe with the DevTools protocol.
package browsertest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Browser is a headless Chromium with one tab.
type Browser struct {
	t       testing.TB
	to      *os.File
	answers chan message
	last    int
	session string
	log     []string // policy violations and script errors that the browser reported
	loads   int      // number of pages loaded
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Session   string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Exception json.RawMessage `json:"error,omitempty"`
}

// stepTimeout is the longest time for one step of the browser.
const stepTimeout = time.Minute

// New starts the Chromium that POLITE_CHROMIUM names. If it is not set, the
// test is skipped, because a browser test takes long.
func New(t testing.TB) *Browser {
	t.Helper()
	name := os.Getenv("POLITE_CHROMIUM")
	if name == "" {
		t.Skip("POLITE_CHROMIUM is not set to a browser such as chromium")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	fromTest, toChromium, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromChromium, toTest, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{fromTest, toTest} // file descriptors 3 and 4, as the protocol requires
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromTest.Close()
	toTest.Close()
	b := &Browser{t: t, to: toChromium, answers: make(chan message, 1024)}
	go b.listen(fromChromium) // ends with the browser
	t.Cleanup(func() { b.stop(cmd) })
	b.open()
	return b
}

// stop ends the browser.
func (b *Browser) stop(cmd *exec.Cmd) {
	done := make(chan struct{})
	go func() { // ends with the browser
		cmd.Wait()
		close(done)
	}()
	fmt.Fprint(b.to, `{"id":999999,"method":"Browser.close"}`+"\x00")
	b.to.Close()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		<-done
	}
}

func (b *Browser) listen(from *os.File) {
	defer close(b.answers)
	defer from.Close()
	r := bufio.NewReader(from)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(raw[:len(raw)-1], &m) == nil {
			b.answers <- m
		}
	}
}

// open opens the tab.
func (b *Browser) open() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Log", "Runtime"} {
		b.call(domain+".enable", nil, nil)
	}
}

// call sends a command and reads its result.
func (b *Browser) call(method string, params, result any) {
	b.t.Helper()
	b.last++
	raw, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	if params == nil {
		raw = []byte("{}")
	}
	cmd, _ := json.Marshal(message{ID: b.last, Session: b.session, Method: method, Params: raw})
	if _, err := b.to.Write(append(cmd, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.next(method)
		if m.ID != b.last {
			continue
		}
		if m.Exception != nil {
			b.t.Fatalf("%s %s: %s", method, raw, m.Exception)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

// next reads one message and records the errors in it.
func (b *Browser) next(during string) message {
	b.t.Helper()
	select {
	case m, ok := <-b.answers:
		if !ok {
			b.t.Fatalf("%s: the browser ended", during)
		}
		switch m.Method {
		case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening":
			b.log = append(b.log, m.Method+" "+string(m.Params))
		case "Page.loadEventFired":
			b.loads++
		}
		return m
	case <-time.After(stepTimeout):
		b.t.Fatalf("%s: no answer within %v", during, stepTimeout)
	}
	panic("unreachable")
}

// Visit loads a page.
func (b *Browser) Visit(url string) {
	b.t.Helper()
	b.Load(func() { b.call("Page.navigate", map[string]any{"url": url}, nil) })
}

// Load calls do, which must load a page, and waits until the page is loaded.
func (b *Browser) Load(do func()) {
	b.t.Helper()
	before := b.loads
	do()
	for b.loads == before {
		b.next("loading a page")
	}
}

// Eval evaluates an expression in the page. The page's policy does not apply to it.
func (b *Browser) Eval(expression string, result any) {
	b.t.Helper()
	b.run(expression, false, result)
}

// run is Eval. If wait is set, the value is a promise and run waits for it.
func (b *Browser) run(expression string, wait bool, result any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": wait}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%.300s: %s", expression, r.ExceptionDetails)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
		}
	}
}

// Text evaluates an expression whose value is a string.
func (b *Browser) Text(expression string) string {
	b.t.Helper()
	var s string
	b.Eval(expression, &s)
	return s
}

// SetWindow sets the size of the window and the preferred colour scheme.
func (b *Browser) SetWindow(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "screenWidth": width, "screenHeight": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Screenshot writes a picture of the page.
func (b *Browser) Screenshot(file string, whole bool) {
	b.t.Helper()
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole}, &shot)
	raw, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// keyCodes are the codes of the keys that Press knows.
var keyCodes = map[string]int{"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowRight": 39}

// Press presses a key: one of Tab, Enter, ArrowLeft and ArrowRight.
func (b *Browser) Press(key string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		event := map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": keyCodes[key]}
		if key == "Enter" && kind == "keyDown" {
			event["text"] = "\r"
		}
		b.call("Input.dispatchKeyEvent", event, nil)
	}
}

// focused is a script that returns the index of the focused element among the links, fields
// and buttons that can be seen, or says what is wrong with it: it is out of sight, or nothing
// shows that it has the focus. A part of the page that scrolls has no index.
const focused = `(() => {
	const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);
	if (e === document.body) return "";
	if (r.bottom < 0 || r.top > innerHeight || r.width < 2) return "out of sight: " + e.outerHTML.slice(0, 80);
	if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 2) return "no outline: " + e.outerHTML.slice(0, 80);
	return "ok " + ` + controls + `.indexOf(e);
})()`

const controls = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea")].filter(e => e.getClientRects().length > 0)`

// WalkByTab presses Tab until every link, field and button of the page had the focus. Each
// must get it once, in the order of the page, and must show it. WalkByTab returns what is
// wrong, "" if nothing is.
func (b *Browser) WalkByTab() string {
	b.t.Helper()
	var all int
	b.Eval(controls+".length", &all)
	next := 0
	for steps := 0; next < all && steps < all+50; steps++ {
		b.Press("Tab")
		switch got := b.Text(focused); got {
		case fmt.Sprintf("ok %d", next):
			next++
		case "ok -1":
		default:
			return fmt.Sprintf("Tab %d: got %q, want element %d of %d", steps+1, got, next, all)
		}
	}
	if next != all {
		return fmt.Sprintf("got %d elements by Tab, want %d", next, all)
	}
	return ""
}

// Type types a text into the focused element.
func (b *Browser) Type(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Wait evaluates an expression until it is true.
func (b *Browser) Wait(expression string) {
	b.t.Helper()
	promise := `new Promise((done, failed) => {
		const end = Date.now() + 50000;
		const look = () => (` + expression + `) ? done(true) : Date.now() > end ? failed("never true") : setTimeout(look, 20);
		look();
	})`
	b.run(promise, true, nil)
}

// Axe runs axe-core in the page and returns the violations of its rules, one a line. The
// test is skipped if POLITE_AXE does not name the file axe.min.js.
func (b *Browser) Axe() string {
	b.t.Helper()
	name := os.Getenv("POLITE_AXE")
	if name == "" {
		b.t.Skip("POLITE_AXE does not name axe.min.js: npm install --prefix DIR axe-core puts it into DIR/node_modules/axe-core")
	}
	source, err := os.ReadFile(name)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Eval(string(source)+";0", nil)
	var found string
	b.run(`axe.run().then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.target + ": " + n.failureSummary.replace(/\s+/g, " "))).join("\n"))`, true, &found)
	return found
}

// CheckLog fails the test if the browser reported an error. Answers that are not 2xx
// do not count, because the tests want them.
func (b *Browser) CheckLog() {
	b.t.Helper()
	for _, entry := range b.log {
		if !strings.Contains(entry, "responded with a status of 4") {
			b.t.Errorf("the browser reports: %s", entry)
		}
	}
	b.log = nil
}
