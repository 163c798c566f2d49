package provenance

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/flattable"
)

// sample is a database of two procedures: a convolution with a bias and a relu
// fused into it, whose weight a second operation shares, and n operations more.
func sample(n int) *DB {
	db := &DB{
		Compiler: "zinc test", Target: "h13", SHA256: [32]byte{1, 2, 3}, Passes: []string{"normalise", "place",
			"fuse-epilogue"}, Files: []string{"model.mil"},
		TextSize: 0x300, ConstantSize: 0x140,
		Statements: []Statement{
			{Line: 3, Col: 9, Func: "main", Op: "input", Name: "x"},
			{Line: 4, Col: 9, Func: "main", Op: "const", Name: "w", Type: "fp16", Shape: []int64{5, 10, 1, 1}},
			{Line: 5, Col: 9, Func: "main", Op: "const", Name: "b", Type: "fp16"},
			{Line: 6, Col: 9, Func: "main", Op: "conv", Name: "y", Args: []int32{1, 2}},
			{Line: 7, Col: 9, Func: "main", Op: "relu", Name: "z"},
			{Func: "main", Op: "conv", Name: "second", Args: []int32{1}},
		},
		Nodes: []Node{
			{Statement: -1},
			{Statement: 0}, {Statement: 1}, {Statement: 2}, {Statement: 3}, {Statement: 4}, {Statement: 5},
			{Statement: -1, Pass: "fuse-epilogue", From: []NodeID{4, 5}}, // 7
			{Statement: -1, Pass: "place", From: []NodeID{7}},            // 8
			{Statement: -1, From: []NodeID{2, 3}},                        // 9
			{Statement: -1, Pass: "place", From: []NodeID{6}},            // 10
		},
		Operators: []Operator{{Func: "main", Op: "conv", Name: "y", Unit: "engine", Rule: "convolution", Node: 8,
			With: 9, Transposed: true}},
		Gone: []Gone{{Pass: "normalise", Node: 6, By: 1}},
		Procedures: []Procedure{
			{Name: "net", Func: "main", Node: 8},
			{Name: "net_1", Func: "main", Step: 2, Node: 10},
		},
		Tasks: []Task{
			{Offset: 0, Words: 20, Node: 8, With: 9, Rule: "convolution", Links: []Link{{7, LinkTask, 0x100},
				{12, LinkSurface, 0}, {13, LinkScratch, 64}}},
			{Index: 1, Offset: 0x100, Words: 20, Node: 8, With: 9, Rule: "convolution",
				Links: []Link{{14, LinkConstant, 0}}},
			{Procedure: 1, Offset: 0x200, Words: 64, Node: 10, Rule: "convolution"},
		},
		Extents: []Extent{
			{Offset: 0, Size: 0x100, Layout: []Repeat{{2, []Run{{RoleBias, 16}, {"values", 100}, {RolePadding, 12}}}},
				Uses: []Use{{Node: 8, Rule: "convolution", Values: 2, Bias: 3, Table: 8},
					{Node: 10, Rule: "convolution", Values: 2, Bias: 10}}},
			{Offset: 0x100, Size: 0x20, Layout: []Repeat{{1, []Run{{RoleTable, 0x20}}}},
				Uses: []Use{{Node: 8, Rule: "table"}}},
		},
		Surfaces: []Surface{{Name: "x", Value: "x", Address: 0x30000, Size: 64, Node: 1},
			{Procedure: 1, Name: "z@output", Output: true, Value: "z", Size: 64, Node: 8}},
		Operations: []Operation{{Func: "main", Name: "Op0_Cast", Kind: "Cast", Rule: "surface-input", Node: 1},
			{Func: "main", Index: 1, Name: "Op1_AneInference", Kind: "AneInference", Rule: "inference", Node: 8,
				With: 9}},
	}
	for i := range n {
		db.Statements = append(db.Statements, Statement{
			Line: int32(10 + i),
			Col:  1,
			Func: "main",
			Op:   "add",
			Name: "v" + strings.Repeat("x", i%7),
		})
		db.Nodes = append(db.Nodes, Node{Statement: int32(len(db.Statements) - 1)})
	}
	return db
}

func encoded(t testing.TB, db *DB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := db.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWriteAndReadRoundTrip also checks that writing twice gives the same bytes.
func TestWriteAndReadRoundTrip(t *testing.T) {
	for _, n := range []int{0, 5, 100, 5000} {
		db := sample(n)
		b := encoded(t, db)
		got, err := Read(b)
		if err != nil {
			t.Fatalf("%d more: %v", n, err)
		}
		if !reflect.DeepEqual(got, db) {
			t.Errorf("%d more: read back\n%+v\nwant\n%+v", n, got, db)
		}
		if !bytes.Equal(b, encoded(t, db)) {
			t.Errorf("%d more: written twice, the files differ", n)
		}
	}
	empty := &DB{Nodes: []Node{{Statement: -1}}}
	if got, err := Read(encoded(t, empty)); err != nil || len(got.Tasks) != 0 {
		t.Errorf("an empty database: %v", err)
	}
}

// schema returns the tables of a file in the language of FlatBuffers.
func schema() string {
	var b strings.Builder
	types := map[flattable.Kind]string{flattable.Uint8: "ubyte", flattable.Int32: "int", flattable.Uint32: "uint",
		flattable.Uint64: "ulong", flattable.String: "string", flattable.Bytes: "[ubyte]", flattable.Texts: "[string]",
		flattable.Uint32s: "[uint]", flattable.Uint64s: "[ulong]", flattable.Int32s: "[int]"}
	fmt.Fprintf(&b, "// The debug database, version %s, revision %d. docs/provenance.md says what the fields mean.\n",
		version, Revision)
	b.WriteString("namespace zinc.provenance;\n")
	seen := map[*flattable.Table]bool{}
	var write func(t *flattable.Table)
	write = func(t *flattable.Table) {
		if seen[t] {
			return
		}
		seen[t] = true
		var fields strings.Builder
		for _, f := range t.Fields {
			typ, required := types[f.Kind], ""
			if f.Of != nil {
				write(f.Of[0])
				typ = f.Of[0].Name
			}
			if f.Kind == flattable.Subs {
				typ = "[" + typ + "]"
			}
			if f.Required {
				required = " (required)"
			}
			fmt.Fprintf(&fields, "  %s:%s%s;\n", f.Name, typ, required)
		}
		fmt.Fprintf(&b, "\ntable %s {\n%s}\n", t.Name, fields.String())
	}
	write(fileTable)
	fmt.Fprintf(&b, "\nroot_type %s;\nfile_identifier %q;\n", fileTable.Name, fileTable.Identifier)
	return b.String()
}

// TestTablesHaveTheFieldsOfTheirStructs compares names, because writer and reader go by position.
func TestTablesHaveTheFieldsOfTheirStructs(t *testing.T) {
	var compare func(table *flattable.Table, v reflect.Type)
	compare = func(table *flattable.Table, v reflect.Type) {
		if v.Name() != table.Name || v.NumField() != len(table.Fields) {
			t.Errorf("table %s of %d fields is struct %s of %d", table.Name, len(table.Fields), v.Name(), v.NumField())
			return
		}
		for i, f := range table.Fields {
			if name := v.Field(i).Name; !strings.EqualFold(name, strings.ReplaceAll(f.Name, "_", "")) {
				t.Errorf("field %d of %s is %s, and %s of the struct", i, table.Name, f.Name, name)
			}
			if f.Of != nil {
				compare(f.Of[0], v.Field(i).Type.Elem())
			}
		}
	}
	compare(databaseTable, reflect.TypeFor[DB]())
}

var update = flag.Bool("update", false, "write zdb.fbs")

// TestSchemaFileIsCurrent checks zdb.fbs, with which any reader of FlatBuffers reads a file, and lets flatc do so.
func TestSchemaFileIsCurrent(t *testing.T) {
	if *update {
		if err := os.WriteFile("zdb.fbs", []byte(schema()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile("zdb.fbs"); err != nil || string(b) != schema() {
		t.Fatalf("zdb.fbs is not current (%v): run go test ./compile/provenance -run Schema -update", err)
	}
	bin, err := exec.LookPath("flatc")
	if err != nil {
		t.Skip("no flatc (package flatbuffers-compiler): cannot compare with the schema compiler")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "d.zdb")
	if err := os.WriteFile(file, encoded(t, sample(20)), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bin, "--json", "--strict-json", "-o", dir, "zdb.fbs", "--", file).CombinedOutput()
	if err != nil {
		t.Fatalf("flatc: %v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "d.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Revision int
		Strings  []string
		DB       struct {
			Statements []struct{ Line, Name int }
			Tasks      []struct{ Links []struct{ Target uint64 } }
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Revision != Revision || len(got.DB.Statements) != 26 || got.Strings[got.DB.Statements[3].Name] != "y" ||
		got.DB.Statements[3].Line != 6 || got.DB.Tasks[0].Links[2].Target != 64 {
		t.Errorf("flatc reads %+v", got)
	}
}

// golden returns the contents of a compressed golden file.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFilesOfAllRevisionsAreRead reads a golden file of each revision and checks that
// the bytes written by the current revision have not changed. The golden files are
// never updated: a change that fails here must add a revision and its file.
func TestFilesOfAllRevisionsAreRead(t *testing.T) {
	const first = 2 // of this version
	for revision := first; revision <= Revision; revision++ {
		want := sample(5)
		b := golden(t, fmt.Sprintf("revision%d.zdb.gz", revision))
		db, err := Read(b)
		if err != nil {
			t.Errorf("revision %d: %v", revision, err)
			continue
		}
		if !reflect.DeepEqual(db, want) {
			t.Errorf("revision %d is read as\n%+v\nwant\n%+v", revision, db, want)
		}
		if revision == Revision && !bytes.Equal(b, encoded(t, want)) {
			t.Error("the same database is another file than it was")
		}
	}
}

// TestOtherVersionsAreRefusedByNumber reads a file of version 1, which is a bbolt database, and one of a later version.
func TestOtherVersionsAreRefusedByNumber(t *testing.T) {
	later := encoded(t, sample(0))
	later[7]++
	for v, b := range map[string][]byte{"1": golden(t, "revision1.zdb.gz"), "3": later} {
		_, err := Read(b)
		if want := fmt.Sprintf("version: %q: this zinc reads version 2; compile the model again", v); err == nil ||
			!strings.Contains(err.Error(), want) || !Is(b) {
			t.Errorf("version %s: %v, want %q; Is says %v", v, err, want, Is(b))
		}
	}
}

// TestAdditionsOfLaterRevisionsAreIgnored also checks that a link of an unknown kind is an error in a file of the
// current revision.
func TestAdditionsOfLaterRevisionsAreIgnored(t *testing.T) {
	added := flattable.New("Later", flattable.Opt("name", flattable.String))
	more := flattable.NewNode(added, strings.Repeat("later", 20))
	for name, edit := range map[string]func(file *flattable.Node){
		"fields": func(file *flattable.Node) {
			file.Table = extended(file.Table, flattable.Opt("more", flattable.Sub, added))
			file.Values = slices.Insert(file.Values, 3, any(more))
			for i, x := range file.Values[2].(*flattable.Node).Values {
				for _, n := range asNodes(x) {
					n.Table = extended(n.Table, flattable.Opt("more", flattable.Uint32))
					n.Values = append(n.Values, uint64(7+i))
				}
			}
		},
		"links": func(file *flattable.Node) {
			tasks := asNodes(file.Values[2].(*flattable.Node).Values[12])
			last := tasks[len(tasks)-1]
			last.Values[7] = []*flattable.Node{flattable.NewNode(linkTable, uint64(3), uint64(numLinks), uint64(9))}
		},
	} {
		for revision, ok := range map[uint64]bool{Revision + 1: true, Revision: false} {
			db := sample(0)
			file := db.file()
			file.Values[0] = revision
			edit(file)
			b, bad := flattable.Encode(file, file.Bound())
			if bad != nil {
				t.Fatal(bad)
			}
			got, err := Read(b)
			if ok && err != nil {
				t.Errorf("%s of a later revision: %v", name, err)
			} else if ok && !reflect.DeepEqual(got, db) {
				t.Errorf("%s of a later revision: read as\n%+v\nwant\n%+v", name, got, db)
			} else if !ok && name == "links" && err == nil {
				t.Errorf("%s that this revision does not have are read", name)
			}
		}
	}
}

func extended(t *flattable.Table, f flattable.Field) *flattable.Table {
	out := *t
	out.Fields = append(slices.Clone(t.Fields), f)
	return &out
}

func asNodes(x any) []*flattable.Node {
	n, _ := x.([]*flattable.Node)
	return n
}

// TestDocumentationListsRecordsAndRevision checks docs/provenance.md.
func TestDocumentationListsRecordsAndRevision(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "provenance.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{identifier, fmt.Sprintf("Revision %d ", Revision)}
	for _, m := range regexp.MustCompile(`table (\w+)`).FindAllStringSubmatch(schema(), -1) {
		want = append(want, fmt.Sprintf("| %s |", m[1]))
	}
	for k := range LinkKind(numLinks) {
		want = append(want, fmt.Sprintf("%d %s", k, k))
	}
	for _, w := range want {
		if !bytes.Contains(text, []byte(w)) {
			t.Errorf("docs/provenance.md is missing %q", w)
		}
	}
}

// TestFileSizeIsLinearInStatements also checks that the size does not depend on the
// number of weight bytes.
func TestFileSizeIsLinearInStatements(t *testing.T) {
	a, b := len(encoded(t, sample(2000))), len(encoded(t, sample(4000)))
	if b > 2*a {
		t.Errorf("2000 statements take %d bytes, 4000 take %d", a, b)
	}
	big := sample(0)
	big.ConstantSize = 1 << 31
	big.Extents = append(big.Extents, Extent{
		Offset: 0x1000,
		Size:   1 << 30,
		Layout: []Repeat{{1 << 10, []Run{{"values", 1 << 20}}}},
	})
	if n := len(encoded(t, big)); n > 40000 {
		t.Errorf("a gigabyte of weights takes %d bytes", n)
	}
}

func TestQueriesAnswerInBothDirections(t *testing.T) {
	db, err := Read(encoded(t, sample(0)))
	if err != nil {
		t.Fatal(err)
	}
	source := func(r Ref) Source { return db.Source(r) }
	if got, want := source(db.Tasks[0].Ref()), (Source{
		Statements: []int{3, 4},
		With:       []int{1, 2},
		Passes:     []string{"place", "fuse-epilogue"},
		Rule:       "convolution",
	}); !reflect.DeepEqual(got, want) {
		t.Errorf("task 0 came from %+v, want %+v", got, want)
	}
	type stretch struct {
		off, size uint64
		what      string
	}
	var text []stretch
	for _, h := range db.Text(8, 1<<40) {
		text = append(text, stretch{h.Offset, h.Size, h.What})
	}
	if want := []stretch{{8, 72, WhatTask}, {80, 0xb0, RolePadding}, {0x100, 80, WhatTask}, {0x150, 0xb0, RolePadding},
		{0x200, 0x100, WhatTask}}; !reflect.DeepEqual(text, want) {
		t.Errorf("text %v, want %v", text, want)
	}
	if h := db.Text(0x300, 4); h != nil {
		t.Errorf("past the section: %v", h)
	}
	constants := func(off, n uint64) (out []stretch) {
		db.Constants(off, n, func(h Hit) bool {
			out = append(out, stretch{h.Offset, h.Size, h.What})
			return true
		})
		return out
	}
	for _, c := range []struct {
		off, n uint64
		want   []stretch
	}{
		{0, 20, []stretch{{0, 16, RoleBias}, {16, 4, "values"}}},
		{120, 30, []stretch{{120, 8, RolePadding}, {128, 16, RoleBias}, {144, 6, "values"}}},
		{0xfe, 4, []stretch{{0xfe, 2, RolePadding}, {0x100, 2, RoleTable}}},
		{0x11f, 100, []stretch{{0x11f, 1, RoleTable}, {0x120, 0x20, RolePadding}}},
		{0x130, 4, []stretch{{0x130, 4, RolePadding}}},
		{0x140, 4, nil},
	} {
		if got := constants(c.off, c.n); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d constant bytes at %#x: %v, want %v", c.n, c.off, got, c.want)
		}
	}
	// Queries for single bytes give the same answers as one query for all of them.
	var whole []string
	db.Constants(0, db.ConstantSize, func(h Hit) bool {
		whole = append(whole, slices.Repeat([]string{h.What}, int(h.Size))...)
		return true
	})
	for i := range db.ConstantSize {
		if got := constants(i, 1); len(got) != 1 || got[0] != (stretch{i, 1, whole[i]}) {
			t.Fatalf("byte %#x: %v, want %s", i, got, whole[i])
		}
	}
	// The shared weight has one answer for each user.
	var users [][]int
	for _, r := range db.Extents[0].Refs("values") {
		s := source(r)
		if !slices.Equal(s.Statements, []int{1}) {
			t.Errorf("the weight came from %v", s.Statements)
		}
		users = append(users, s.Users)
	}
	if !reflect.DeepEqual(users, [][]int{{3, 4}, {5}}) {
		t.Errorf("users of the weight: %v", users)
	}
	w, err := db.Word(0, 12)
	if err != nil || w.Offset != 48 || w.Link == nil || db.LinkString(*w.Link) != `surface "x"` {
		t.Errorf("word 12: %+v %v", w, err)
	}
	if _, err := db.Word(0, 20); err == nil {
		t.Error("a task of 20 words has a word 20")
	}
	if i := db.TaskAt(0x50); i != -1 {
		t.Errorf("padding is in task %d", i)
	}
	if i, err := db.Task("net_1", 0); err != nil || i != 2 {
		t.Errorf("task 0 of net_1 is %d, %v", i, err)
	}
	if got, want := db.From(db.Line("model.mil", 7)...), (&Made{
		Operators:  []int{0},
		Tasks:      []int{0, 1},
		Extents:    []int{1},
		Reads:      []int{0, 1},
		Surfaces:   []int{1},
		Operations: []int{1},
	}); !reflect.DeepEqual(got, want) {
		t.Errorf("line 7 became %+v, want %+v", got, want)
	}
	if got := db.From(db.Named("second")...); !reflect.DeepEqual(got.Gone, []int{0}) || !reflect.DeepEqual(got.Tasks,
		[]int{2}) {
		t.Errorf("second became %+v", got)
	}
	if got := db.From(db.Named("w")...); !reflect.DeepEqual(got.Extents, []int{0}) || !reflect.DeepEqual(got.Tasks,
		[]int{0, 1}) {
		t.Errorf("w became %+v", got)
	}
	if got := db.Readers(1); !slices.Equal(got, []int{3, 5}) {
		t.Errorf("readers of w: %v", got)
	}
	if db.Line("other.mil", 7) != nil || db.Line("", 0) != nil {
		t.Error("lines that are not there have statements")
	}
	if s := db.Brief(db.Tasks[0].Ref(), 2); !s.More {
		t.Errorf("an answer of two nodes is whole: %+v", s)
	}
}

func TestTextAndJSONNameEachPart(t *testing.T) {
	db := sample(0)
	var b strings.Builder
	if err := db.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"net task 1 at 0x100, 20 words\n  from model.mil:6:9 conv \"y\"\n  from model.mil:7:9 relu \"z\"\n  with " +
			"model.mil:4:9 const \"w\"\n",
		"  word 14 points at constant byte 0x0\n",
		"0x0, 256 bytes\n  bias, 32 bytes\n    from model.mil:5:9 const \"b\"\n    for model.mil:6:9 conv \"y\"\n",
		"by normalise\n  from conv \"second\"\n  replaced by: from model.mil:3:9 input \"x\"\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
	j, err := json.Marshal(db.TaskNode(1))
	if err != nil || !bytes.Contains(j, []byte(`"links":[{"word":14,"kind":"constant","offset":0}]`)) {
		t.Errorf("JSON %s %v", j, err)
	}
}

// TestReadRejectsInvalidFiles reads files that break one rule each.
func TestReadRejectsInvalidFiles(t *testing.T) {
	whole := encoded(t, sample(1000))
	le := binary.LittleEndian
	root := int(le.Uint32(whole))
	for _, c := range []struct {
		name string
		edit func(b []byte) []byte
		want string
	}{
		{"empty", func(b []byte) []byte { return nil }, "first bytes"},
		{"another file", func(b []byte) []byte { b[4] = 'X'; return b }, "first bytes"},
		{"cut", func(b []byte) []byte { return b[:len(b)-4] }, "File.strings"},
		{"more", func(b []byte) []byte { return append(b, 0, 0, 0, 1) }, "the last object ends"},
		{"head only", func(b []byte) []byte { return b[:8] }, "past the buffer"},
		{"root outside", func(b []byte) []byte { le.PutUint32(b, 1<<31); return b }, "past the buffer"},
		{"vtable outside", func(b []byte) []byte { le.PutUint32(b[root:], 1<<30); return b }, "vtable"},
		{"text outside", func(b []byte) []byte {
			return reencoded(t, func(file *flattable.Node) {
				file.Values[1] = file.Values[1].([]string)[:3]
			})
		}, "want less than 3, the number of strings"},
		{"hash too long", func(b []byte) []byte {
			return reencoded(t, func(file *flattable.Node) {
				file.Values[2].(*flattable.Node).Values[2] = flattable.Blob{Data: make([]byte, 33), Align: 4}
			})
		}, "DB.sha256: 33 bytes, want 32"},
		{"truth of 2", func(b []byte) []byte {
			return reencoded(t, func(file *flattable.Node) {
				asNodes(file.Values[2].(*flattable.Node).Values[9])[0].Values[9] = uint64(2)
			})
		}, "Operator.transposed: 2, want 0 or 1"},
		{"surface far away", func(b []byte) []byte {
			return reencoded(t, func(file *flattable.Node) {
				asNodes(file.Values[2].(*flattable.Node).Values[14])[0].Values[4] = uint64(1 << 63)
			})
		}, "the limit of both is 2^63 - 1"},
	} {
		b := c.edit(bytes.Clone(whole))
		_, err := Read(b)
		var bad *FormatError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
}

// TestContradictingListsAreRejected checks both Write and Read.
func TestContradictingListsAreRejected(t *testing.T) {
	for name, edit := range map[string]func(db *DB){
		"no nodes":               func(db *DB) { db.Nodes = nil },
		"node 0":                 func(db *DB) { db.Nodes[0].Pass = "x" },
		"a node made of itself":  func(db *DB) { db.Nodes[7].From[0] = 7 },
		"a node made of nothing": func(db *DB) { db.Nodes[7].From[0] = 0 },
		"statement":              func(db *DB) { db.Nodes[1].Statement = 99 },
		"argument":               func(db *DB) { db.Statements[3].Args[0] = 99 },
		"file":                   func(db *DB) { db.Statements[0].File = 1 },
		"operator":               func(db *DB) { db.Operators[0].With = 99 },
		"gone":                   func(db *DB) { db.Gone[0].By = 99 },
		"procedure":              func(db *DB) { db.Procedures[0].Node = 99 },
		"task's procedure":       func(db *DB) { db.Tasks[0].Procedure = 2 },
		"task outside":           func(db *DB) { db.Tasks[2].Words = 65 },
		"tasks overlap":          func(db *DB) { db.Tasks[0].Words = 65 },
		"task far away":          func(db *DB) { db.Tasks[2].Offset = 1 << 62 },
		"link's word":            func(db *DB) { db.Tasks[0].Links[0].Word = 20 },
		"link's surface":         func(db *DB) { db.Tasks[0].Links[1].Target = 2 },
		"link's constant":        func(db *DB) { db.Tasks[1].Links[0].Target = 0x140 },
		"extents overlap":        func(db *DB) { db.Extents[1].Offset = 0xff },
		"extent outside":         func(db *DB) { db.Extents[1].Size = 1 << 40 },
		"layout too long":        func(db *DB) { db.Extents[0].Layout[0].Times = 3 },
		"layout too short":       func(db *DB) { db.Extents[0].Layout[0].Times = 1 },
		"layout of nothing": func(db *DB) {
			db.Extents[0].Layout = append(db.Extents[0].Layout, Repeat{Times: 1 << 31})
		},
		"layout of empty runs": func(db *DB) {
			db.Extents[1].Layout[0].Runs = append(db.Extents[1].Layout[0].Runs, Run{"values", 0})
		},
		"layout that overflows":   func(db *DB) { db.Extents[1].Layout[0].Times = 1<<32 - 1 },
		"user":                    func(db *DB) { db.Extents[0].Uses[0].Table = 99 },
		"surface":                 func(db *DB) { db.Surfaces[0].Procedure = 9 },
		"operation":               func(db *DB) { db.Operations[0].Node = 99 },
		"sections past 32 bits":   func(db *DB) { db.TextSize = 1<<32 + 1 },
		"constants past 32 bits":  func(db *DB) { db.ConstantSize = 1 << 40 },
		"surface's node":          func(db *DB) { db.Surfaces[1].Node = 1 << 31 },
		"a node of a later time":  func(db *DB) { db.Nodes[8].From[0] = 9 },
		"statement below nothing": func(db *DB) { db.Nodes[1].Statement = -2 },
	} {
		db := sample(0)
		edit(db)
		if err := db.Write(&bytes.Buffer{}); err == nil {
			t.Errorf("%s: written", name)
		}
		if _, err := Read(filed(t, db)); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// filed returns the file of a database without checking it.
func filed(t testing.TB, db *DB) []byte {
	t.Helper()
	file := db.file()
	b, err := flattable.Encode(file, file.Bound())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reencoded returns a file that edit has changed.
func reencoded(t testing.TB, edit func(file *flattable.Node)) []byte {
	t.Helper()
	file := sample(0).file()
	edit(file)
	b, err := flattable.Encode(file, file.Bound())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestChangedBytesDoNotPanic changes each byte of a file, reads it and queries the result.
func TestChangedBytesDoNotPanic(t *testing.T) {
	whole := encoded(t, sample(3))
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= [...]byte{1, 0x80, 0xff}[i%3]
		if db, err := Read(b); err == nil {
			ask(db)
		}
	}
}

// ask runs every query on a database.
func ask(db *DB) {
	for _, h := range db.Text(0, db.TextSize) {
		for _, r := range h.Refs {
			db.Source(r)
		}
	}
	n := 0
	db.Constants(0, db.ConstantSize, func(h Hit) bool {
		for _, r := range h.Refs {
			db.Source(r)
		}
		n++
		return n < 1000
	})
	for i := range db.Tasks {
		for w := range min(db.Tasks[i].Words, 100) {
			if _, err := db.Word(i, int(w)); err != nil {
				panic(err)
			}
		}
	}
	for i := range min(len(db.Statements), 100) {
		db.From(i)
		db.Readers(i)
	}
	for _, l := range db.Lists() {
		for i := range l.Len {
			if _, err := json.Marshal(l.Item(i)); err != nil {
				panic(err)
			}
		}
	}
	if err := db.Print(&strings.Builder{}); err != nil {
		panic(err)
	}
}

// FuzzRead checks that Read returns an error, or a database that can be queried and
// that is the same after it is written and read again.
func FuzzRead(f *testing.F) {
	for _, n := range []int{0, 200} {
		b := encoded(f, sample(n))
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		db, err := Read(b)
		if err != nil {
			return
		}
		ask(db)
		again, err := Read(encoded(t, db))
		if err != nil || !reflect.DeepEqual(db, again) {
			t.Fatalf("written and read again: %v", err)
		}
	})
}
