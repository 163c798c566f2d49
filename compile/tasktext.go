package compile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
)

// TaskText is a compiled program whose tasks are text, which may be edited. The text is what td.WriteText writes, plus
// one line of JSON, which td.ReadText ignores: what the container has besides tasks and constants. Constants and the
// descriptor are in a section of their own.
type TaskText struct {
	codec    *td.Codec
	image    *hwx.Image
	programs []td.Program
	desc     *e5.Program
	end      uint64 // of the container that desc was written for
}

// imageMark begins the line with the taskHeader.
const imageMark = "# image "

// taskHeader is a container without its tasks and constants.
type taskHeader struct {
	Image hwx.Image `json:"image"`
	// Relocations are the lanes of coefficients in use by each procedure, as pairs of task and lane. The image has them
	// as offsets into the tasks.
	Relocations [][][2]int `json:"relocations"`
	Constants   int        `json:"constants"`  // bytes
	Descriptor  int        `json:"descriptor"` // bytes
	End         uint64     `json:"end"`        // first address after the container
}

// TaskText returns the tasks of the pair, which are programs in the order of the container's
// procedures, as text, and the section of constants and descriptor, whose parts follow each other.
func (b *Built) TaskText(programs []td.Program) (text []byte, data [][]byte, err error) {
	h := taskHeader{Image: *b.image, End: endOf(b.HWX)}
	codec, err := td.CodecFor(hwx.TaskVersion(h.Image.CPUSubtype))
	if err != nil {
		return nil, nil, err
	}
	for i, e := range h.Image.Procedures {
		lanes := [][2]int{}
		_, offs, err := codec.AppendChain(nil, programs[i].Tasks)
		if err != nil {
			return nil, nil, err
		}
		for k, t := range programs[i].Tasks {
			for lane := range td.Lanes {
				w, ok := codec.WordIndex(t, td.CoeffBase.At(lane))
				if ok && slices.Contains(e.Relocs, uint32(int(e.Offset)+offs[k]+4*w)) {
					lanes = append(lanes, [2]int{k, lane})
				}
			}
		}
		h.Relocations = append(h.Relocations, lanes)
	}
	desc, err := e5.Bytes(b.E5)
	if err != nil {
		return nil, nil, err
	}
	if b.image.Stream != nil {
		consts := b.HWX.ConstantBytes()
		if consts == nil { // Sink.Container kept nothing
			var all bytes.Buffer
			if _, err := b.image.Stream.WriteTo(&all); err != nil {
				return nil, nil, err
			}
			consts = all.Bytes()
		}
		data, h.Constants = append(data, consts), len(consts)
	}
	data, h.Descriptor = append(data, desc), len(desc)
	h.Image.Text, h.Image.Stream = nil, nil
	h.Image.Procedures = slices.Clone(h.Image.Procedures)
	for i := range h.Image.Procedures {
		e := &h.Image.Procedures[i]
		e.Offset, e.FirstWords, e.Tasks, e.Relocs = 0, 0, 0, nil // follow from the tasks
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, nil, err
	}
	var words bytes.Buffer
	if err := td.WriteText(&words, programs); err != nil {
		return nil, nil, err
	}
	first, rest, _ := bytes.Cut(words.Bytes(), []byte("\n"))
	return slices.Concat(first, []byte("\n"+imageMark), head, []byte("\n"), rest), data, nil
}

// IsTaskText reports whether text begins like the text of a TaskText.
func IsTaskText(text []byte) bool { return bytes.HasPrefix(text, []byte(td.TextMagic)) }

// ReadTaskText reads what Built.TaskText returned. Data must not be modified. Errors name the text and the line.
func ReadTaskText(name string, text, data []byte) (*TaskText, error) {
	bad := func(format string, args ...any) error { return &SnapshotError{name, fmt.Sprintf(format, args...)} }
	programs, err := td.ReadText(string(text))
	if err != nil {
		return nil, bad("%v", err)
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	line, ok := bytes.CutPrefix(rest, []byte(imageMark))
	if !ok {
		return nil, bad("line 2: want %q: the tasks alone do not make a container", imageMark)
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	var h taskHeader
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return nil, bad("line 2: %v", err)
	}
	if h.Constants < 0 || h.Descriptor < 0 || h.Constants > len(data) || h.Descriptor != len(data)-h.Constants {
		return nil, bad("constants and descriptor have %d bytes, want %d and %d", len(data), h.Constants, h.Descriptor)
	}
	if len(programs) != len(h.Image.Procedures) || len(programs) != len(h.Relocations) {
		return nil, bad("tasks of %d procedures, want %d", len(programs), len(h.Image.Procedures))
	}
	t := &TaskText{image: &h.Image, programs: programs, end: h.End}
	if t.codec, err = td.CodecFor(hwx.TaskVersion(h.Image.CPUSubtype)); err != nil {
		return nil, bad("line 2: %v", err)
	}
	if h.Constants > 0 {
		t.image.Constants = [][]byte{data[:h.Constants]}
	}
	if t.desc, err = e5.Read(data[h.Constants:]); err != nil {
		return nil, bad("descriptor: %v", err)
	}
	for i, p := range programs {
		if err := t.procedure(i, h.Relocations[i]); err != nil {
			return nil, bad("procedure %s: %v", p.Name, err)
		}
	}
	return t, nil
}

// procedure appends the tasks of procedure i to the image.
func (t *TaskText) procedure(i int, lanes [][2]int) error {
	e, p := &t.image.Procedures[i], t.programs[i]
	if p.Name != e.Name {
		return fmt.Errorf("want the tasks of procedure %s", e.Name)
	}
	if len(p.Tasks) == 0 {
		return fmt.Errorf("no tasks")
	}
	text, offs, err := t.codec.AppendChain(t.image.Text, p.Tasks)
	if err != nil {
		return err
	}
	t.image.Text = text
	e.Offset, e.FirstWords, e.Tasks = uint64(offs[0]), uint32(t.codec.Words(p.Tasks[0])), uint32(len(p.Tasks))
	for _, l := range lanes {
		if l[0] < 0 || l[0] >= len(p.Tasks) || l[1] < 0 || l[1] >= td.Lanes {
			return fmt.Errorf("no lane %d of task %d", l[1], l[0])
		}
		w, ok := t.codec.WordIndex(p.Tasks[l[0]], td.CoeffBase.At(l[1]))
		if !ok {
			return fmt.Errorf("task %d does not write lane %d", l[0], l[1])
		}
		e.Relocs = append(e.Relocs, uint32(offs[l[0]]+4*w))
	}
	return nil
}

// Pair builds the pair from the tasks as they are now. It returns an error for tasks that fail the checks of every
// compilation.
func (t *TaskText) Pair() (pair.Pair, error) {
	f, _, err := hwx.Build(t.image)
	if err != nil {
		return pair.Pair{}, err
	}
	if err := checkContainer(f); err != nil {
		return pair.Pair{}, err.Err
	}
	container, err := hwx.Encode(f)
	if err != nil {
		return pair.Pair{}, err
	}
	sum := sha256.Sum256(container)
	t.rename(hex.EncodeToString(sum[:]), endOf(f))
	desc, err := e5.Bytes(t.desc)
	return pair.Pair{Container: container, Descriptor: desc}, err
}

// rename changes the descriptor to refer to a container with this hash, which ends at end. Addresses of ports stay the
// same, since surfaces come before the tasks; states come after the container.
func (t *TaskText) rename(hash string, end uint64) {
	for i := range t.desc.Functions {
		f := &t.desc.Functions[i]
		f.AneHashPath = hash
		for _, b := range f.Blocks {
			for _, op := range b.Operations {
				if a, ok := op.Attrs.(*e5.AneInferenceAttrs); ok {
					a.AneHash = hash
				}
			}
		}
		for _, id := range f.States {
			f.Operands[id].Port.ApertureVA += firstState(end) - firstState(t.end)
		}
	}
}
