package mlmodel

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// TestEncodedPackagesAreEqualMessages writes every package that Apple's converter wrote, with its own description and
// with one from the metadata, and reads it again.
func TestEncodedPackagesAreEqualMessages(t *testing.T) {
	shared := shareddir.Find(t)
	var names []string
	for _, pattern := range []string{"converted", "corpus"} {
		found, _ := filepath.Glob(filepath.Join(shared, pattern, "*.mlpackage"))
		names = append(names, found...)
	}
	if len(names) < 20 {
		t.Fatalf("%d packages, want at least 20", len(names))
	}
	for _, name := range names {
		src, err := os.ReadFile(filepath.Join(name, "Data", "com.apple.CoreML", "model.mlmodel"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := decode(src)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Encode(m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(canonical(src), canonical(out)) {
			t.Errorf("%s: the messages differ", filepath.Base(name))
		}
		m.Description = nil
		if out, err = Encode(m); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(canonical(src), canonical(out)) {
			t.Errorf("%s: the messages differ after describing the model again", filepath.Base(name))
		}
		again, err := decode(out)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if printed(t, m.Program) != printed(t, again.Program) {
			t.Errorf("%s: the program differs", name)
		}
	}
}

func printed(t *testing.T, p *mil.Program) string {
	t.Helper()
	var b strings.Builder
	if err := mil.Print(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// canonical returns a message with the fields of every message in it sorted, as far as they can be told from strings.
func canonical(b []byte) []byte {
	var fields [][]byte
	for rest := b; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return b
		}
		m := protowire.ConsumeFieldValue(num, typ, rest[n:])
		if m < 0 {
			return b
		}
		f := rest[:n+m]
		if typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(rest[n:])
			f = protowire.AppendBytes(protowire.AppendTag(nil, num, typ), canonical(v))
		}
		fields = append(fields, f)
		rest = rest[n+m:]
	}
	slices.SortStableFunc(fields, bytes.Compare)
	return bytes.Join(fields, nil)
}

// TestTextOfCompilersDecidesTheDialect checks the version of the text, and how it writes scalars, by the operation set
// and by the compiler.
func TestTextOfCompilersDecidesTheDialect(t *testing.T) {
	build := func(version string) part {
		return entry(4, "buildInfo", sub(2, sub(4, sub(1, tensor(2)...), sub(2, tensor(2)...))),
			sub(3, sub(4, sub(1, sub(1, text("coremlc-version")...), sub(2, text(version)...)))))
	}
	for _, c := range []struct{ opset, compiler, want string }{
		{"CoreML5", "3500.32.1", `program(1.0)`},
		{"CoreML7", "3500.32.1", `program(1.0)`},
		{"CoreML7", "x", `program(1.0)`},
		{"CoreML6", "3520.5.1", `program(1.3)`},
		{"CoreML8", "3505.4.1", `program(1.3)`},
	} {
		got := decodeText(t, spec(nil, function("main", c.opset, nil, str(2, "c"), constant("c", tensor(2), text("s"))),
			build(c.compiler)))
		scalar := map[bool]string{true: ` string c = const()`, false: ` tensor<string, []> c = const()`}
		if !strings.HasPrefix(got, c.want) || !strings.Contains(got, scalar[c.want == "program(1.3)"]) {
			t.Errorf("%s of %s: want %s, got\n%s", c.opset, c.compiler, c.want, got)
		}
	}
}

// TestWhatASpecificationLacksIsRefused checks the diagnostics of texts that no specification can represent.
func TestWhatASpecificationLacksIsRefused(t *testing.T) {
	const head, end = "func main<ios18>(tensor<fp16, [2]> x) { tensor<fp16, [2]> y = add(x = x, y = ", "); } -> (y);"
	for _, c := range []struct{ text, want string }{
		{`func main(tensor<fp16, [2]> x) { } -> (x);`, `function main has operation set ""; a specification has one`},
		{`func main<ios18>(tensor<fp16, [N]> x) { } -> (x);`, `dimension N has a name`},
		{head + `[1, 2]` + end, `the value has no type`},
		{head + `tensor<int8, [1]>([300])` + end, `element 0 is 300, outside int8`},
		{head + `fp16({{"a", 1}})` + end, `the value is not one of fp16`},
	} {
		tree, list := mil.ParseString("text", "program(1.3)\n{\n"+c.text+"\n}\n")
		if list.HasErrors() {
			t.Errorf("%s: %v", c.text, list.Err())
			continue
		}
		_, err := Encode(&Model{Metadata: &metadata.Model{}, Program: tree})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "text:3:") {
			t.Errorf("%s: %v, want %q with its place", c.text, err, c.want)
		}
	}
}
