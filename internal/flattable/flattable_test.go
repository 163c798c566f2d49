package flattable

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
)

// A small format: a shelf of books, each with its tags.
type (
	book struct {
		Title  string
		Author string // an index in the table
		Pages  int32
		Lent   bool
		Weight uint64
		Stars  []float32
		Shelf  []uint32
		Deltas []int32
		Parts  []part
		Cover  [2]byte
		Scan   []byte
	}
	part struct {
		Name  string
		Sizes []int64
	}
)

var (
	partTable = New("Part", Req("name", String), Opt("sizes", Uint64s))
	bookTable = New("Book", Req("title", String), Opt("author", Uint32), Opt("pages", Int32), Opt("lent", Uint8),
		Opt("weight", Uint64), Opt("stars", Float32s), Opt("shelf", Uint32s), Opt("deltas", Int32s),
		Opt("parts", Subs, partTable), Opt("cover", Bytes), Opt("scan", Bytes))
	shelfTable = &Table{Name: "Shelf", Identifier: "BOOK", Fields: []Field{Opt("books", Subs, bookTable)}}
)

func books() []*book {
	return []*book{
		{Title: "a", Author: "x", Pages: -3, Lent: true, Weight: 1 << 60, Stars: []float32{0.5, 4}, Shelf: []uint32{9},
			Deltas: []int32{-1, 7}, Parts: []part{{"one", []int64{1, 2}}, {Name: "two"}}, Cover: [2]byte{1, 2},
			Scan: []byte("scan")},
		{Title: "b", Author: "x"},
		{Title: "c"},
	}
}

func encodeBooks(t *testing.T, list []*book) ([]byte, *Strings) {
	t.Helper()
	var s Strings
	nodes := make([]*Node, len(list))
	for i, b := range list {
		nodes[i] = s.Node(bookTable, b)
	}
	n := NewNode(shelfTable, nodes)
	b, err := Encode(n, n.Bound())
	if err != nil {
		t.Fatal(err)
	}
	if f := Verify(b, 0, shelfTable); f != nil {
		t.Fatal(f)
	}
	return b, &s
}

// TestStructsSurviveTheRoundTrip writes structs with every field, and with fields that are left out where they are
// empty.
func TestStructsSurviveTheRoundTrip(t *testing.T) {
	var dense int
	for _, sparse := range []bool{false, true} {
		bookTable.Sparse, partTable.Sparse = sparse, sparse
		b, s := encodeBooks(t, books())
		if string(b[4:8]) != "BOOK" {
			t.Errorf("identifier %q", b[4:8])
		}
		for i, r := range Root(b, shelfTable).Subs("books") {
			got := &book{}
			if f := s.Fill(r, got); f != nil {
				t.Fatal(f)
			}
			if want := books()[i]; !reflect.DeepEqual(got, want) {
				t.Errorf("sparse %v: %+v, want %+v", sparse, got, want)
			}
		}
		if sparse && len(b) >= dense {
			t.Errorf("without empty fields %d bytes, with them %d", len(b), dense)
		}
		dense = len(b)
	}
	bookTable.Sparse, partTable.Sparse = false, false
}

// TestSparseTablesKeepTheirSize writes two tables whose only fields are at one offset, the second one wider: the
// builder gives both one vtable.
func TestSparseTablesKeepTheirSize(t *testing.T) {
	narrow := &Table{Name: "Narrow", Sparse: true, Fields: []Field{Opt("a", Uint32), Opt("x", Uint32)}}
	wide := &Table{Name: "Wide", Sparse: true, Fields: []Field{Opt("a", Uint32), Opt("x", Uint64)}}
	pair := New("Pair", Opt("narrow", Sub, narrow), Opt("wide", Sub, wide))
	n := NewNode(pair, NewNode(narrow, uint64(1), uint64(2)), NewNode(wide, uint64(3), uint64(4)))
	b, err := Encode(n, n.Bound())
	if err != nil {
		t.Fatal(err)
	}
	if f := Verify(b, 0, pair); f != nil {
		t.Fatal(f)
	}
	r := Root(b, pair)
	if x, y := r.Sub("narrow").Number("x"), r.Sub("wide").Number("x"); x != 2 || y != 4 {
		t.Errorf("%d and %d, want 2 and 4", x, y)
	}
}

// TestFillRefusesValuesThatTheStructCannotHold changes the tables, so that each file is valid.
func TestFillRefusesValuesThatTheStructCannotHold(t *testing.T) {
	for _, c := range []struct {
		field int
		value any
		want  string
	}{
		{1, uint64(2), "Book.author: string 2, want less than 2, the number of strings"},
		{3, uint64(2), "Book.lent: 2, want 0 or 1"},
		{9, Blob{[]byte("abc"), 1}, "Book.cover: 3 bytes, want 2"},
	} {
		s := Strings{}
		n := s.Node(bookTable, books()[0])
		n.Values[c.field] = c.value
		b, err := Encode(n, n.Bound())
		if err != nil {
			t.Fatal(err)
		}
		if f := Verify(b, 0, bookTable); f != nil {
			t.Fatal(f)
		}
		if f := s.Fill(Root(b, bookTable), &book{}); f == nil || !strings.Contains(f.Error(), c.want) {
			t.Errorf("%v, want %q", f, c.want)
		}
	}
}

// TestEveryChangedByteIsFoundOrHarmless reads what a changed file still says.
func TestEveryChangedByteIsFoundOrHarmless(t *testing.T) {
	whole, s := encodeBooks(t, books())
	refused := 0
	for i := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			if Verify(b, 0, shelfTable) != nil {
				refused++
				continue
			}
			for _, r := range Root(b, shelfTable).Subs("books") {
				_ = s.Fill(r, &book{})
			}
		}
	}
	if refused < len(whole) {
		t.Errorf("%d of %d changes are refused", refused, 8*len(whole))
	}
}

// TestTextsAndSizesHaveLimits refuses what no reader would take.
func TestTextsAndSizesHaveLimits(t *testing.T) {
	bad := NewNode(partTable, "\xff", []uint64{})
	if _, err := Encode(NewNode(New("Box", Opt("parts", Subs, partTable)), []*Node{bad}), 0); err == nil ||
		err.Error() != `Part.name: "\xff" is not UTF-8` {
		t.Errorf("%v", err)
	}
	if _, err := Encode(bad, MaxFile+1); err == nil || !strings.Contains(err.Error(), "limit of a FlatBuffer") {
		t.Errorf("%v", err)
	}
	b, _ := encodeBooks(t, books())
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	if f := Verify(b[:6], 0, shelfTable); f == nil || !strings.Contains(f.Error(), "6 bytes, a root offset needs 8") {
		t.Errorf("%v", f)
	}
}
