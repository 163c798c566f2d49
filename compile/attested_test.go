package compile

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/attest"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

var update = flag.Bool("update", false, "rewrite the table of attested kinds")

// recordedCase is what the test uses of a recorded case.
type recordedCase struct {
	Case    string
	MIL     string
	Weights struct {
		Storage, Value, Pattern string
		Mask                    uint16 `json:"xor_mask"`
		Payload                 uint64 `json:"payload_bytes"`
		Offsets                 []int  `json:"record_offsets"` // of the recorded references, in the order of the shapes
		Shape                   []int
		Shapes                  [][]int
	}
	Tasks []struct {
		Header  []string
		Records []struct {
			Addr  string
			Head  string // of packed tasks
			Words []string
		}
	}
	Tensors []struct {
		Binding uint32
		Element uint32 `json:"element_code"`
		Shape   [4]uint32
		Strides [4]uint64
	} `json:"tensor_descriptors"`
	Constant struct {
		Size   int
		SHA256 string
	} `json:"constant_section"`
}

// recordedCases returns the recorded cases of a target.
func recordedCases(t *testing.T, name string) (cases []*recordedCase) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "oracles", name, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, f := range files {
		c := new(recordedCase)
		raw, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(raw, c)
		}
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

// TestAttestedKindsAreRecorded compares the table of attested kinds with the recorded cases: a kind is in it if
// recorded tasks of the kind are equal word for word to those that zinc writes, and none differs.
func TestAttestedKindsAreRecorded(t *testing.T) {
	for _, tab := range append([]*target.Table{target.H13, target.H14}, laterTargets...) {
		t.Run(tab.Name, func(t *testing.T) { attested(t, tab) })
	}
	// Of the M6 there are tasks alone, the first ones of their programs.
	t.Run(target.H18g.Name, func(t *testing.T) {
		good := map[string][]string{}
		for name, tasks := range publishedTasks(t) {
			all := publishedLayers[name].tasks(t)
			for i, ws := range tasks {
				if k := attest.Kind(all[i], i, len(all)); slices.Equal(canonical(t, td.V24, all[i]), ws) {
					good[k] = append(good[k], fmt.Sprintf("%s-task%d", name, i))
				}
			}
		}
		holdKinds(t, target.H18g.TD, good)
	})
}

func attested(t *testing.T, tab *target.Table) {
	codec, err := td.CodecOf(tab.TD)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := map[string][]string{}, map[string][]string{}
	for _, c := range recordedCases(t, tab.Name) {
		mine := compiledTasks(t, c, tab)
		if mine == nil {
			continue // its weights do not have the form that the text names; see docs/deviations.md
		}
		for i, m := range mine {
			into := bad
			if len(mine) == len(c.Tasks) && slices.Equal(canonical(t, codec, m), recordedWords(t, c, i)) {
				into = good
			}
			if k := attest.Kind(m, i, len(mine)); !slices.Contains(into[k], c.Case) {
				into[k] = append(into[k], c.Case)
			}
		}
	}
	for k := range bad {
		delete(good, k)
	}
	holdKinds(t, tab.TD, good)
}

// holdKinds compares the table of a version with the cases of each kind.
func holdKinds(t *testing.T, version int, good map[string][]string) {
	t.Helper()
	var lines []string
	for k, cases := range good {
		lines = append(lines, k+"\t"+strings.Join(cases, " ")+"\n")
	}
	sort.Strings(lines)
	got := strings.Join(lines, "")
	file := filepath.Join("attest", attest.File(version))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s does not match the recorded cases; run go test ./compile -run TestAttestedKindsAreRecorded "+
			"-update", file)
	}
}

// canonical returns the words of a task as a decode of them sees it.
func canonical(t *testing.T, codec *td.Codec, m *td.Task) []uint32 {
	t.Helper()
	ws, err := codec.EncodeWords(m)
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

func recordedWords(t *testing.T, c *recordedCase, i int) []uint32 {
	t.Helper()
	var ws []uint32
	number := func(s string) uint32 {
		v, err := strconv.ParseUint(s, 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(v)
	}
	for _, h := range c.Tasks[i].Header {
		ws = append(ws, number(h))
	}
	for _, r := range c.Tasks[i].Records {
		if r.Head != "" {
			ws = append(ws, number(r.Head))
		} else {
			ws = append(ws, uint32(len(r.Words)-1)<<26|number(r.Addr))
		}
		for _, w := range r.Words {
			ws = append(ws, number(w))
		}
	}
	return ws
}

// compiledTasks compiles a case and decodes the tasks of its container.
func compiledTasks(t *testing.T, c *recordedCase, tab *target.Table) []*td.Task {
	t.Helper()
	m, err := frontend.Open(writtenCase(t, c), frontend.Options{})
	if err != nil {
		t.Logf("%s: %v", c.Case, err)
		return nil
	}
	defer m.Close()
	r, err := All(context.Background(), m.Program, Options{Target: tab})
	if err != nil {
		t.Fatalf("%s: %v", c.Case, err)
	}
	procs := r.HWX.Procedures()
	if len(procs) != 1 {
		t.Fatalf("%s: %d procedures", c.Case, len(procs))
	}
	text, off, ok := r.HWX.Text().Of(procs[0])
	if !ok {
		t.Fatalf("%s: no tasks", c.Case)
	}
	codec, err := td.CodecOf(tab.TD)
	if err != nil {
		t.Fatal(err)
	}
	placed, err := codec.DecodeChain(text, off, procs[0].FirstWords)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []*td.Task
	for _, p := range placed {
		tasks = append(tasks, p.Task)
	}
	return tasks
}

// writtenCase writes a case's files, and returns the path of its text.
func writtenCase(t *testing.T, c *recordedCase) string {
	t.Helper()
	dir := t.TempDir()
	text, weights := caseFiles(t, c)
	for name, data := range map[string][]byte{"model.mil": text, "weights.bin": weights} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "model.mil")
}

// caseFiles returns a case's text and weight file: a blob for each reference, with the values that its compiler saw.
// The shapes follow the recorded offsets if there are any, else the order of the text.
func caseFiles(t *testing.T, c *recordedCase) (text, weights []byte) {
	t.Helper()
	le := binary.LittleEndian
	weights = make([]byte, 64)
	le.PutUint32(weights[4:], 2)
	parts := strings.Split(c.MIL, "offset = uint64(")
	out := parts[0]
	for k, rest := range parts[1:] {
		number, tail, _ := strings.Cut(rest, ")")
		recorded, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%s: %v", c.Case, err)
		}
		which := slices.Index(c.Weights.Offsets, recorded)
		if which < 0 {
			which = k
		}
		blob := blobOf(t, c, which)
		at := len(weights)
		head := make([]byte, 64)
		le.PutUint32(head, 0xdeadbeef)
		le.PutUint32(head[4:], 1)
		le.PutUint64(head[8:], uint64(len(blob)))
		le.PutUint64(head[16:], uint64(at+64))
		weights = append(append(weights, head...), blob...)
		weights = append(weights, make([]byte, -len(weights)&63)...)
		le.PutUint32(weights, uint32(k+1))
		out += "offset = uint64(" + strconv.Itoa(at) + ")" + tail
	}
	return []byte(out), weights
}

func blobOf(t *testing.T, c *recordedCase, k int) []byte {
	t.Helper()
	shapes := c.Weights.Shapes
	if shapes == nil {
		shapes = [][]int{c.Weights.Shape}
	}
	if k >= len(shapes) {
		t.Fatalf("%s: %d constants, %d shapes", c.Case, k+1, len(shapes))
	}
	count := func(k int) int {
		n := 1
		for _, d := range shapes[k] {
			n *= d
		}
		return n
	}
	start := 0
	for i := range k {
		start += count(i)
	}
	le := binary.LittleEndian
	// The fill files were read from byte 0: their header counts as values.
	head := make([]byte, 128)
	le.PutUint32(head, 1)
	le.PutUint32(head[4:], 2)
	le.PutUint32(head[64:], 0xdeadbeef)
	le.PutUint64(head[68:], c.Weights.Payload)
	le.PutUint64(head[76:], 128)
	var b []byte
	for i := range count(k) {
		v := uint16(0x3800)
		switch {
		case c.Weights.Pattern != "":
			v = uint16(start+i+1) ^ c.Weights.Mask
		case strings.HasPrefix(c.Weights.Value, "fp16 bits 0x3400 + index"):
			v = 0x3400 + uint16(k)
		case i < 64:
			v = le.Uint16(head[2*i:])
		case c.Weights.Value == "distinct":
			v = 0x3801
		}
		b = le.AppendUint16(b, v)
	}
	return b
}
