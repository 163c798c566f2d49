package browsertest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// blob matches a constant in the weight file: element type, dimensions, offset of its record.
var blob = regexp.MustCompile(`tensor<(\w+), \[([0-9, ]*)\]>\(BLOBFILE\(path = [^"]*"@model_path/weights/weight\.bin"` +
	`[^=]*= [^(]*\((\d+)\)`)

// elements are the types of constants that weighed writes.
var elements = map[string]blobfile.ElemType{"fp16": blobfile.Float16, "int32": blobfile.Int32}

// weighed returns a folder with a model of the corpus and weights for it. The page needs weights of the right sizes
// only, so they are small random numbers, written in a second. A model whose weight file has another form gets the
// weights of the shared tool.
func weighed(t *testing.T, shared, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "weights")); err == nil {
		return dir
	}
	type record struct {
		offset uint64
		elem   blobfile.ElemType
		n      int
	}
	var list []record
	for _, m := range blob.FindAllStringSubmatch(string(text), -1) {
		r := record{elem: elements[m[1]], n: 1}
		for _, d := range strings.Split(m[2], ",") {
			if d = strings.TrimSpace(d); d != "" {
				k, err := strconv.Atoi(d)
				if err != nil {
					t.Fatal(err)
				}
				r.n *= k
			}
		}
		if r.offset, err = strconv.ParseUint(m[3], 10, 63); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b record) int { return int(a.offset) - int(b.offset) })
	list = slices.CompactFunc(list, func(a, b record) bool { return a.offset == b.offset })
	tmp := t.TempDir()
	if err := os.Mkdir(filepath.Join(tmp, "weights"), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(tmp, "weights", "weight.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := blobfile.NewWriter(f)
	random := rand.New(rand.NewPCG(1, 2))
	for _, r := range list {
		if r.elem == 0 {
			return shareddir.WithWeights(t, shared, dir)
		}
		b := make([]byte, r.n*r.elem.Bits()/8)
		if r.elem == blobfile.Float16 {
			for i := 0; i+1 < len(b); i += 2 {
				// Sign, an exponent from 2^-7 to 2^-4, and four bits of the fraction.
				x := random.Uint32()
				b[i], b[i+1] = byte(x)&0xf0, 0x20|byte(x>>8)&0x8f
			}
		}
		if at, err := w.Append(r.elem, r.n, b); err != nil || at != r.offset {
			return shareddir.WithWeights(t, shared, dir)
		}
	}
	if err := os.WriteFile(filepath.Join(tmp, "model.mil"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	return tmp
}
