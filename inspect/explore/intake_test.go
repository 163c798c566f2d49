package explore

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSlowBodiesKeepNobodyOut asks while more bodies than the limit of requests do not arrive.
func TestSlowBodiesKeepNobodyOut(t *testing.T) {
	l := Default
	l.Requests = 4
	c := newClient(t, l)
	address := strings.TrimPrefix(c.url, "http://")
	var slow []net.Conn
	for range l.Requests {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST /api/compile HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: 100\r\n\r\n{", address)
		if err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	for n := 0; n < l.Requests; time.Sleep(time.Millisecond) {
		c.s.intake.mu.Lock()
		n = len(c.s.intake.reading)
		c.s.intake.mu.Unlock()
	}
	if status, b := c.ask("/api/models", nil); status != http.StatusOK {
		t.Errorf("a request without a body: status %d: %s", status, b)
	}
	for range 2 * l.Requests {
		if status, b := c.ask("/api/compile", Config{Model: "none"}); status != http.StatusNotFound {
			t.Errorf("a request with a body: status %d: %s", status, b)
		}
	}
	// The first of them made room by cutting off the oldest slow one. Bodies that have arrived make room again.
	answers := make(chan string, len(slow))
	for _, conn := range slow {
		go func() {
			b := make([]byte, 12)
			io.ReadFull(conn, b) // an answer, or nothing until the connection is closed
			answers <- string(b)
		}()
	}
	if a := <-answers; a != "HTTP/1.1 503" {
		t.Errorf("the slow request that was cut off got %q", a)
	}
	c.s.intake.mu.Lock()
	defer c.s.intake.mu.Unlock()
	if n := len(c.s.intake.reading); n != l.Requests-1 {
		t.Errorf("%d slow bodies are left, want %d", n, l.Requests-1)
	}
}
