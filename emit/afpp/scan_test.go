package afpp_test

import (
	"io"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
)

// TestScanCut truncates a container of two programs at every offset: the result of Scan is a prefix of the container,
// nothing that ends before the cut is missing, and the first fault is where it ends.
func TestScanCut(t *testing.T) {
	b := encode(t, small(1), byCall(2))
	whole, err := afpp.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if p, faults := afpp.Scan(b); len(faults) > 0 || !reflect.DeepEqual(p, whole) {
		t.Fatalf("of a whole container Scan gives another Package, or faults %v", faults)
	}
	// The positions of each program's records and images, from a Scan of all but the last byte.
	near, _ := afpp.Scan(b[:len(b)-1])
	for n := range b {
		p, faults := afpp.Scan(b[:n])
		if len(faults) == 0 || faults[0].Off > int64(n) || faults[0].Field == "" {
			t.Fatalf("cut at %#x: faults %v", n, faults)
		}
		if p == nil {
			if n >= afpp.HeaderSize {
				t.Fatalf("cut at %#x: no Package", n)
			}
			continue
		}
		for i, g := range p.Programs {
			w := whole.Programs[i]
			l, err := near.Programs[i].Sections()
			if err != nil {
				t.Fatal(err)
			}
			text := int(l[afpp.KindText-1].At) + 8
			records := min(max((n-text)/td.RecordSize, 0), len(w.Text.Records))
			images := min(max((n-text-len(w.Text.Records)*td.RecordSize)/td.ImageSize, 0), len(w.Text.Images))
			if len(g.Text.Records) != records || len(g.Text.Images) != images {
				t.Fatalf("cut at %#x: program %d has %d records and %d images, want %d and %d", n, i,
					len(g.Text.Records), len(g.Text.Images), records, images)
			}
			for k := range g.Text.Records {
				if g.Text.Records[k] != w.Text.Records[k] {
					t.Fatalf("cut at %#x: program %d: record %d is %v", n, i, k, g.Text.Records[k])
				}
			}
			end := func(k afpp.Kind) int { return int(l[k-1].At) + int(l[k-1].Size) }
			if n >= end(afpp.KindGeneric) && g.Generic != w.Generic {
				t.Fatalf("cut at %#x: program %d: generic %v", n, i, g.Generic)
			}
			if n >= end(afpp.KindOperation) && !reflect.DeepEqual(g.Operations, w.Operations) {
				t.Fatalf("cut at %#x: program %d: operations %v", n, i, g.Operations)
			}
			if n >= end(afpp.KindProcedure) && !reflect.DeepEqual(g.Procedures, w.Procedures) {
				t.Fatalf("cut at %#x: program %d: procedures %v", n, i, g.Procedures)
			}
			if kernel := min(max(n-int(l[afpp.KindKernel-1].At), 0), len(w.Kernel)); len(g.Kernel) != kernel {
				t.Fatalf("cut at %#x: program %d: %d bytes of coefficients, want %d", n, i, len(g.Kernel), kernel)
			}
		}
		printAll(t, io.Discard, p)
	}
}

// TestScanOtherImages: images of another version are kept as bytes, with a fault that
// says so.
func TestScanOtherImages(t *testing.T) {
	b := encode(t, small(1))
	near, _ := afpp.Scan(b[:len(b)-1])
	l, err := near.Programs[0].Sections()
	if err != nil {
		t.Fatal(err)
	}
	b[l[afpp.KindGeneric-1].At+8] = 11
	resum(b)
	p, faults := afpp.Scan(b)
	if len(faults) == 0 || len(p.Programs) != 1 {
		t.Fatalf("faults %v", faults)
	}
	g := p.Programs[0]
	if want := len(near.Programs[0].Text.Images) * td.ImageSize; len(g.Text.Other) != want || len(g.Text.Images) != 0 ||
		len(g.Text.Records) == 0 {
		t.Errorf("%d bytes of other images, want %d; %d images, %d records", len(g.Text.Other), want,
			len(g.Text.Images), len(g.Text.Records))
	}
}

// FuzzScan looks for bytes that the reader of broken containers does not survive.
func FuzzScan(f *testing.F) {
	b := encode(f, small(1), byCall(2))
	for _, n := range []int{len(b), len(b) - 1, len(b) / 2, 400, 100, 20, 5} {
		f.Add(b[:n])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, faults := afpp.Scan(b)
		whole, err := afpp.Read(b)
		if err == nil && (len(faults) > 0 || !reflect.DeepEqual(p, whole)) {
			t.Fatalf("Read takes it, Scan has faults %v or another Package", faults)
		}
		if err != nil && len(faults) == 0 {
			t.Fatalf("Read says %v, Scan has no fault", err)
		}
		if p == nil {
			return
		}
		printAll(t, io.Discard, p)
	})
}
