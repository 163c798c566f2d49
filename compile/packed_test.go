package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// TestPackedStreamsAreRecorded compiles the recorded programs of h14 to h18 and compares the words of every task.
func TestPackedStreamsAreRecorded(t *testing.T) {
	for _, on := range append([]*target.Table{target.H14}, laterTargets...) {
		t.Run(on.Name, func(t *testing.T) { packedStreamsAreRecorded(t, on) })
	}
}

func packedStreamsAreRecorded(t *testing.T, on *target.Table) {
	codec, err := td.CodecOf(on.TD)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range recordedCases(t, on.Name) {
		mine := compiledTasks(t, c, on)
		if mine == nil {
			t.Errorf("%s does not compile", c.Case)
			continue
		}
		same := len(mine) == len(c.Tasks)
		if !same {
			t.Logf("%s: %d tasks, recorded %d", c.Case, len(mine), len(c.Tasks))
		}
		for i := range min(len(mine), len(c.Tasks)) {
			want := recordedWords(t, c, i)
			if got, err := codec.EncodeWords(mine[i]); err != nil || !slices.Equal(got, want) {
				same = false
				t.Logf("%s task %d: %s (%v)", c.Case, i, firstDifference(t, codec, mine[i], want), err)
			}
		}
		if !same {
			t.Errorf("%s is not as recorded", c.Case)
		}
	}
}

// TestKernelsHaveASegmentOfTheirOwnFromH16On compiles recorded programs: a lookup table or coefficients are in
// __KERN_0, beside zeros in __TEXT,__const, and constants alone in the latter, as recorded.
func TestKernelsHaveASegmentOfTheirOwnFromH16On(t *testing.T) {
	for _, on := range []*target.Table{target.H16, target.H17, target.H18} {
		for _, c := range recordedCases(t, on.Name) {
			m, err := frontend.Open(writtenCase(t, c), frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := All(t.Context(), m.Program, Options{Target: on, SplitKernel: true})
			m.Close()
			if err != nil {
				t.Fatal(err)
			}
			var text []byte
			for _, s := range r.HWX.Segments() {
				for _, q := range s.Sections {
					if s.Name.String() == hwx.SegText && q.Name.String() == hwx.SectConst {
						text = q.Bytes()
					}
				}
			}
			sum := sha256.Sum256(text)
			if c.Constant.SHA256 != "" && hex.EncodeToString(sum[:]) != c.Constant.SHA256 {
				t.Errorf("%s/%s: %d bytes in %s,%s are not the recorded ones", on.Name, c.Case, len(text), hwx.SegText,
					hwx.SectConst)
			}
		}
	}
}

// firstDifference names the first field of a task that recorded words have with another value.
func firstDifference(t *testing.T, codec *td.Codec, task *td.Task, words []uint32) string {
	t.Helper()
	want, err := codec.DecodeWords(words)
	if err != nil {
		t.Fatal(err)
	}
	for i := range td.Fields() {
		if f := td.Field(i); f != td.TaskWords && task.Get(f) != want.Get(f) {
			return f.String()
		}
	}
	return "records"
}
