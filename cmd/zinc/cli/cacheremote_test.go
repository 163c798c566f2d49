package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// nginx is a web server with its WebDAV module, which keeps what is PUT in a folder: one of the servers that Bazel's
// documentation names for its HTTP cache protocol.
type nginx struct {
	root    string // of its files
	address string
	process *os.Process
	waited  chan struct{}
}

// start starts nginx, or skips the test where it is not installed. It is killed at the end.
func startNginx(t *testing.T) *nginx {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("no nginx: the remote cache is not tested on a real server")
		}
	}
	dir := t.TempDir()
	n := &nginx{root: filepath.Join(dir, "root"), waited: make(chan struct{})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.address = l.Addr().String()
	l.Close() // nginx takes it over
	if err := os.MkdirAll(n.root, 0o777); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`daemon off;
master_process off;
pid %[1]s/pid;
error_log %[1]s/error.log;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[2]s;
		root %[3]s;
		client_max_body_size 0;
		location / {
			dav_methods PUT;
			create_full_put_path on;
		}
	}
}
`, dir, n.address, n.root)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	var msg bytes.Buffer
	cmd := exec.Command(program, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"),
		"-e", filepath.Join(dir, "start.log"))
	cmd.Stderr = &msg
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.process = cmd.Process
	go func() { _ = cmd.Wait(); close(n.waited) }()
	t.Cleanup(n.kill)
	for {
		c, err := net.Dial("tcp", n.address)
		if err == nil {
			c.Close()
			return n
		}
		select {
		case <-n.waited:
			t.Fatalf("nginx ended: %s", &msg)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (n *nginx) kill() {
	_ = n.process.Kill()
	<-n.waited
}

// files returns the paths of the stored files of a kind, ac or cas.
func (n *nginx) files(t *testing.T, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.root, kind, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nginx has no %s: %v", kind, err)
	}
	return files
}

// home makes the process use the cache folder of another machine.
func home(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv(cacheEnv, "")
}

// relay passes connections on to a server, and calls cut when n bytes have come back.
func relay(t *testing.T, address string, n int64, cut func()) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var once sync.Once
	go func() {
		for {
			down, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", address)
			if err != nil {
				down.Close()
				continue
			}
			go func() { _, _ = io.Copy(up, down); up.Close() }()
			go func() {
				defer down.Close()
				if _, err := io.CopyN(down, up, n); err == nil {
					once.Do(cut)
				}
				_, _ = io.Copy(down, up)
			}()
		}
	}()
	return l.Addr().String()
}

// TestRemoteCacheOnNginx compiles on one machine and hits on another, a second home, on a real server; then the server
// returns wrong bytes, and is killed in the middle of a transfer, and another server is silent: each costs one warning
// and a compilation.
func TestRemoteCacheOnNginx(t *testing.T) {
	n := startNginx(t)
	url, model := "http://"+n.address+"/zinc", filepath.Join(digits(t), "digits.mlmodelc")
	n.root = filepath.Join(n.root, "zinc")
	out := func() string { return filepath.Join(t.TempDir(), "d.hwx") }
	compiled := func(to, msg string) bool {
		t.Helper()
		if _, err := os.Stat(to); err != nil {
			t.Fatalf("no pair: %v, %s", err, msg)
		}
		return !strings.Contains(msg, "cache hit")
	}
	home(t)
	first := out()
	if s, _, msg := call(t, model, "-o", first, "--cache-remote", url); s != statusOK || !compiled(first, msg) ||
		strings.Contains(msg, "remote cache") {
		t.Fatalf("the first machine: status %d, %s", s, msg)
	}
	want, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	same := func(to string) {
		t.Helper()
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
			t.Errorf("another container: %v", err)
		}
	}
	// A second machine takes it from the server, and the next time from its own folder. A machine without a folder
	// takes it from the server every time.
	home(t)
	for _, from := range []string{url, filepath.Join(os.Getenv("HOME"), ".cache", "zinc")} {
		to := out()
		s, _, msg := call(t, model, "-o", to, "--cache-remote", url)
		if s != statusOK || compiled(to, msg) || !strings.Contains(msg, ", "+from+")") {
			t.Errorf("the second machine: status %d, %s; want a hit of %s", s, msg, from)
		}
		same(to)
	}
	for range 2 {
		s, _, msg := call(t, "run", model, "--random", "1", "--cache", "", "--cache-remote", url)
		if s != statusOK || !strings.Contains(msg, ", "+url+")") {
			t.Errorf("without a folder: status %d, %s", s, msg)
		}
	}
	if s, _, msg := call(t, "run", model, "--random", "1", "--no-cache", "--cache-remote", url); s != statusOK ||
		strings.Contains(msg, "cache") {
		t.Errorf("--no-cache: status %d, %s", s, msg)
	}
	// local compiles with a server that fails, on a new machine.
	local := func(name, url, warning string, flags ...string) {
		t.Helper()
		home(t)
		to := out()
		s, _, msg := call(t, append([]string{model, "-o", to, "--cache-remote", url}, flags...)...)
		if s != statusOK || !compiled(to, msg) || strings.Count(msg, "remote cache") != 1 ||
			!strings.Contains(msg, warning) {
			t.Errorf("%s: status %d, %s; want one warning with %q", name, s, msg, warning)
		}
		same(to)
	}
	blobs := n.files(t, "cas")
	kept := map[string][]byte{}
	for _, f := range blobs {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		kept[f] = bytes.Clone(b)
		b[len(b)/2] ^= 0x40
		if err := os.WriteFile(f, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	local("wrong bytes", url, "another SHA-256")
	for f, b := range kept {
		if err := os.WriteFile(f, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	largest := int64(len(want))
	local("killed in the middle of a transfer",
		"http://"+relay(t, n.address, largest/2, n.kill)+"/zinc", "/zinc/cas/") // a blob ended early
	local("dead", url, "connection refused")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	local("slow", "http://"+silent.Addr().String(), "no answer in", "--cache-remote-timeout", "10ms")
}
