package hwx_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// word is a 32-bit word or address recorded as a hexadecimal string.
type word uint64

func (w *word) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(b), "0x"), 16, 64)
	*w = word(n)
	return err
}

// recorded is the output of the current compiler for one small program.
type recorded struct {
	Tasks []struct {
		Header  []word
		Records []struct {
			Addr  word
			Head  word // of packed tasks
			Words []word
		}
	}
	Program struct {
		Code      uint32
		Size      int    `json:"command_size"`
		Constants word   `json:"constant_address"`
		Text      word   `json:"text_address"`
		Resources []word `json:"resource_addresses"`
		Tasks     uint32 `json:"task_count"`
		First     uint32 `json:"task_words_minus_one"`
		Words     uint32 `json:"text_words"` // of packed tasks, as the rest
		Time      uint32 `json:"estimated_cycles"`
		Order     uint32 `json:"word_860"`
	} `json:"program_descriptor"`
	Tensors []struct {
		Binding uint32
		Element uint32 `json:"element_code"`
		Shape   [4]uint32
		Strides [4]uint64
		Total   uint64 `json:"total_bytes"`
	} `json:"tensor_descriptors"`
	Constants struct {
		Size int
	} `json:"constant_section"`
}

// text puts the recorded tasks at the offsets in their chain.
func (r *recorded) text() []byte {
	var b []byte
	for i, t := range r.Tasks {
		if i > 0 {
			b = append(b, make([]byte, int(r.Tasks[i-1].Header[7])-len(b))...)
		}
		add := func(w word) { b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24)) }
		for _, w := range t.Header {
			add(w)
		}
		for _, rec := range t.Records {
			add(word(len(rec.Words)-1)<<26 | rec.Addr)
			for _, w := range rec.Words {
				add(w)
			}
		}
	}
	return b
}

// surfaces returns the surfaces of procedure main.
func (r *recorded) surfaces() (l []hwx.Surface) {
	for i, x := range r.Tensors {
		l = append(l, hwx.Surface{
			Name: "t" + strconv.Itoa(i), Procedure: "main", Binding: x.Binding, Element: x.Element, Dims: x.Shape,
			Strides: x.Strides, BatchBytes: x.Total, Size: x.Total * uint64(x.Shape[0]),
		})
	}
	return l
}

// readRecorded reads a recorded case.
func readRecorded(t *testing.T, path string) (r recorded) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecordedAddresses builds a container around the recorded tasks, surfaces and constants of every case. Scratch,
// surfaces, text and constants must get addresses with which text and constants are where the current compiler put
// them, and the program descriptor must have its size.
func TestRecordedAddresses(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(shareddir.Find(t), "oracles", "h13", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			r := readRecorded(t, path)
			img := &hwx.Image{
				CPUSubtype: target.H13.Subtype,
				Text:       r.text(),
				Constants:  [][]byte{make([]byte, r.Constants.Size)},
			}
			if len(r.Program.Resources) == 0 {
				t.Skip("the addresses of this case are not recorded")
			}
			first := word(1 << 40)
			for _, a := range r.Program.Resources {
				if a != 0 {
					first = min(first, a)
				}
			}
			img.Scratch = uint64(first) - hwx.Base
			img.Surfaces = r.surfaces()
			img.Procedures = []hwx.Entry{{Name: "main", FirstWords: r.Program.First + 1, Tasks: r.Program.Tasks,
				Bars: map[int]hwx.BarRef{0: {Kind: hwx.BarText}, 1: {Kind: hwx.BarConstants}}}}
			f, addrs, file := build(t, img)
			if addrs.Text != uint64(r.Program.Text) || addrs.Constants != uint64(r.Program.Constants) {
				t.Errorf("text at %#x, constants at %#x; recorded %#x and %#x", addrs.Text, addrs.Constants,
					r.Program.Text, r.Program.Constants)
			}
			at := offsetOf(t, file, hwx.CmdThread, hwx.FlavorProgram)
			if words, size := int(file[at+12])|int(file[at+13])<<8, int(file[at+4])|int(file[at+5])<<8; words != int(
				r.Program.Code) || size != r.Program.Size {
				t.Errorf("program of %#x words in %#x bytes; recorded %#x and %#x", words, size, r.Program.Code,
					r.Program.Size)
			}
			if bars := f.Procedures()[0].Bars; bars[1] != uint64(r.Program.Constants) {
				t.Errorf("register 1 is %#x", bars[1])
			}
		})
	}
}
