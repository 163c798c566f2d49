package e5

import (
	"strings"
	"testing"
)

// TestScan: of a whole descriptor Scan finds every value without a fault and nothing
// beside them; of one that is cut, what it finds is among those, more the later it is
// cut, every byte is either found or told, and the first fault is at the end.
func TestScan(t *testing.T) {
	for name, p := range map[string]*Program{"fused": fused(0, 64), "every": every()} {
		b := mustBytes(t, p)
		whole := Scan(b)
		if len(whole.Faults) > 0 || len(whole.Rest) > 0 || len(whole.Parts) == 0 {
			t.Fatalf("%s: faults %v, rest %v", name, whole.Faults, whole.Rest)
		}
		all := map[Part]bool{}
		for _, x := range whole.Parts {
			all[x] = true
		}
		for _, s := range p.Symbols {
			found := false
			for _, x := range whole.Parts {
				found = found || strings.HasPrefix(x.Path, "symbol_names[") && x.Value == `"`+s+`"`
			}
			if !found {
				t.Errorf("%s: symbol %q is not found", name, s)
			}
		}
		last := -1
		for n := 0; n < len(b); n += 1 + n%7 + n/200 {
			cut := Scan(b[:n])
			if len(cut.Faults) == 0 {
				t.Fatalf("%s cut at %d of %d: no fault", name, n, len(b))
			}
			if e := cut.Faults[0]; e.Off > n || e.Table == "" || e.Msg == "" {
				t.Errorf("%s cut at %d: first fault %v", name, n, e)
			}
			count := 0
			for _, x := range cut.Parts {
				if strings.Contains(x.Value, ", of ") {
					continue // an array that is not whole
				}
				if x.Off > n || !all[x] {
					t.Fatalf("%s cut at %d: %v is not in the whole file", name, n, x)
				}
				count++
			}
			if count < last {
				t.Errorf("%s cut at %d: %d values, a shorter file has %d", name, n, count, last)
			}
			last = count
			end := 0
			for _, r := range cut.Rest {
				if r.Off < end || r.Bytes < 1 || r.Off+r.Bytes > n {
					t.Fatalf("%s cut at %d: rest %v", name, n, cut.Rest)
				}
				end = r.Off + r.Bytes
			}
			if n >= int(le32(b))+4 && !Is(b[:n]) {
				t.Errorf("%s cut at %d is not told to be a descriptor", name, n)
			}
		}
	}
}

// TestIs: other files are no descriptors.
func TestIs(t *testing.T) {
	for _, s := range []string{"", "\x10\x00\x00\x00\x0c", "\x10\x00\x00\x00\x00\x00", "program(1.0)", "\xce\xfa\xef\xbe\x80\x00\x00\x00"} {
		if Is([]byte(s)) {
			t.Errorf("%q is told to be a descriptor", s)
		}
	}
}

// FuzzScan looks for bytes that the reader of broken files does not survive.
func FuzzScan(f *testing.F) {
	for _, p := range []*Program{fused(0, 64), every()} {
		b, err := Bytes(p)
		if err != nil {
			f.Fatal(err)
		}
		for _, n := range []int{len(b), len(b) / 2, 60, 8} {
			f.Add(b[:min(n, len(b))])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		Is(b)
		x := Scan(b)
		size := 0
		for _, p := range x.Parts {
			size += len(p.Value)
		}
		// A byte of a string is four at most in quotes, a number of eight bytes twenty.
		if size > 32*len(b)+100*len(x.Parts) || len(x.Parts) > len(b) {
			t.Fatalf("%d values of %d bytes from a file of %d", len(x.Parts), size, len(b))
		}
		if _, err := Read(b); err == nil && len(x.Faults) > 0 {
			t.Fatalf("Read takes it, Scan says %v", x.Faults[0])
		}
	})
}
