package mil

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDiagnosticsMatchGolden parses the model.mil of each archive in testdata/diag and compares the text form, and the
// JSON form if the archive has one.
func TestDiagnosticsMatchGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "diag", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(ar.Files) < 2 || ar.Files[0].Name != "model.mil" {
				t.Fatalf("%s needs model.mil first, then text or json", name)
			}
			_, l := Parse("model.mil", ar.Files[0].Data)
			if !l.HasErrors() {
				t.Errorf("no errors")
			}
			for i := range ar.Files[1:] {
				f := &ar.Files[1+i]
				var out bytes.Buffer
				switch f.Name {
				case "text":
					err = l.WriteText(&out)
				case "json":
					err = writeJSON(&out, l.Document())
				default:
					t.Fatalf("unknown part %s", f.Name)
				}
				if err != nil {
					t.Fatal(err)
				}
				if *update {
					f.Data = out.Bytes()
				} else if got := out.String(); got != string(f.Data) {
					t.Errorf("%s is\n%s\nwant\n%s", f.Name, got, f.Data)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// wrap returns a program with the statements.
func wrap(stmts string) string {
	return "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [4]> x) {\n" + stmts + "\n    } -> (x);\n}\n"
}

// TestEachFaultIsOneError puts one fault into each of many statements and expects one error for each, in order, and the
// sound statements between them in the tree.
func TestEachFaultIsOneError(t *testing.T) {
	faults := []string{
		`tensor<fp16, [4]> a = relu(x x)[];`,
		`tensor<fp17, [4]> a = relu(x = x);`,
		`tensor<fp16, [4> a = relu(x = x);`,
		`tensor<fp16, [4]> = relu(x = x);`,
		`tensor<fp16, [4]> a relu(x = x);`,
		`tensor<fp16, [4]> a = relu(x = );`,
		`tensor<fp16, [4]> a = relu(x = x, );`,
		`tensor<fp16, [4]> a = relu(x = x;`,
		`tensor<fp16, [4]> a = relu(x = x, x = x);`,
		`tensor<fp16, [4]> a = const()[val = tensor<fp16, [4]>([1, 2, 3])];`,
		`tensor<fp16, [4]> a = const()[val = tensor<fp16, [4]>([1, 2, [3], 4])];`,
		`tensor<fp16, [4]> a = const()[val = tensor<fp16, [4]>([1, 2, 3, "4"])];`,
		`string a = const()[val = string("\q")];`,
		`string a = const()[val = string("abc)];`,
		`int32 a = const()[val = int32(99999999999999999999)];`,
		`int32 a = const()[val = int32(1.5)];`,
		`uint8 a = const()[val = uint8(-1)];`,
		`tensor<int32, [2]> a = const()[val = tensor<int32, [2]>([1,])];`,
		`tensor<fp16, [-1]> a = relu(x = x);`,
		`list<fp16> a = relu(x = x);`,
		`vector<fp16, 2> a = relu(x = x);`,
		`tensor<fp16, [4]> a = const()[val = tensor<fp16, [4]>(BLOBFILE(path = string("w")))];`,
		`tensor<fp16, [4]> a = const()[val = tensor<fp16, [4]>(BLOBFILE(path = string("w"), offset = int32(-64)))];`,
		`tensor<fp16, [4]> a = cond(pred = x) () { relu(x = x;  } -> (x);`,
		`@;`,
		"\xff;",
		`;`,
	}
	var b strings.Builder
	for i, f := range faults {
		fmt.Fprintf(&b, "%s\ntensor<fp16, [4]> ok%d = relu(x = x);\n", f, i)
	}
	p, l := Parse("model.mil", []byte(wrap(b.String())))
	if l.Errors() != len(faults) {
		var out strings.Builder
		l.WriteTextMax(&out, 0)
		t.Errorf("%d errors for %d faults:\n%s", l.Errors(), len(faults), &out)
	}
	for i, d := range l.All() {
		if want := 4 + 2*i; d.Span.Position().Line != want {
			t.Errorf("error %d is at %s, want line %d: %s", i, d.Span, want, d.Message)
		}
		if d.Code == "" {
			t.Errorf("no code: %s", d.Message)
		}
	}
	if len(p.Funcs) != 1 {
		t.Fatalf("%d functions, want 1", len(p.Funcs))
	}
	have := map[string]bool{}
	for _, s := range p.Funcs[0].Body.Stmts {
		have[s.Results[0].Name] = true
	}
	for i := range faults {
		if !have[fmt.Sprintf("ok%d", i)] {
			t.Errorf("the statement after fault %d is not in the tree: %s", i, faults[i])
		}
	}
	var text strings.Builder
	if err := l.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), ": error: "); n != 20 {
		t.Errorf("text shows %d errors, want 20", n)
	}
	if want := fmt.Sprintf("and %d errors more\n", len(faults)-20); !strings.HasSuffix(text.String(), want) {
		t.Errorf("text does not end in %q", want)
	}
	var js bytes.Buffer
	var doc struct {
		Errors      int
		Diagnostics []struct{ Line, Column int }
	}
	if err := writeJSON(&js, l.Document()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(js.Bytes(), &doc); err != nil || doc.Errors != len(faults) ||
		len(doc.Diagnostics) != len(faults) {
		t.Errorf("JSON has %d errors and %d diagnostics, want %d of each: %v", doc.Errors, len(doc.Diagnostics),
			len(faults), err)
	}
}

// writeJSON writes a document as commands print it.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
