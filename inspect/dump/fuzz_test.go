package dump

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/addition"
	"github.com/zinc-compiler/zinc/lower/td"
)

// seedBytes is the largest seed of FuzzBytes: minimising large seeds takes the time that executions should have.
const seedBytes = 2 << 10

// FuzzBytes prints any file in every format: the result is text, JSON or an error.
func FuzzBytes(f *testing.F) {
	container := compiled(f)
	records, images := split(f, container)
	for _, b := range append(addition.Containers(f), container, records, images) {
		f.Add(b[:min(len(b), seedBytes)])
	}
	f.Add([]byte("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1]> x) {\n" +
		"        tensor<fp16, [1]> y = relu(x = x);\n    } -> (y);\n}\n"))
	f.Add([]byte(td.TextMagic + ", descriptor 10, text 1\nprocedure \"x\"\n"))
	f.Add([]byte("\x93NUMPY\x01\x00\x76\x00{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }" +
		strings.Repeat(" ", 60) + "\n\x00\x3c\x00\x40"))
	f.Add(append(append([]byte("\x01\x00\x00\x00\x02\x00\x00\x00"), make([]byte, 56)...), "\xef\xbe\xad\xde\x01"...))
	f.Add([]byte(`<?xml version="1.0"?><plist version="1.0"><dict><key>Version</key><string>1.0.9</string></dict>` +
		`</plist>`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o := []Options{{All: true}, {All: true, JSON: true}, {All: true, Raw: true}}[len(b)%3] // all take too long
		var out bytes.Buffer
		err := Bytes(&out, "x.bin", b, o)
		if o.JSON && out.Len() > 0 && !json.Valid(out.Bytes()) {
			t.Errorf("%v: no JSON: %.300s", err, &out)
		}
	})
}
