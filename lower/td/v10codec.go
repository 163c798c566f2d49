package td

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// forms are the sets of records that recorded tasks have; the image contains the index. All others are refused, because
// the groups of version 10 contain the values of registers but not how version 7 divides them into records.
var forms = []struct {
	name  string
	spans func(t *Task) []Span
}{
	{"current", func(t *Task) []Span { return DefaultSpans(t.On(KernelOn), false) }},
	{"full", func(t *Task) []Span { return DefaultSpans(true, true) }},
	{"none", func(*Task) []Span { return []Span{} }},
}

// form returns the index of the task's form.
func (t *Task) form() (int, error) {
	if t.Spans == nil {
		return 0, nil
	}
	for i := range forms {
		if slices.Equal(t.Spans, forms[i].spans(t)) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the task's %d records are of none of the forms current, full and none, which version 10 "+
		"can tell apart", len(t.Spans))
}

// EncodeV10 returns the task's version-10 image, ImageSize bytes.
func EncodeV10(t *Task) ([]byte, error) {
	img := make([]byte, ImageSize)
	return img, t.putV10(img)
}

func (t *Task) putV10(img []byte) error {
	if t.err != nil {
		return t.err
	}
	form, err := t.form()
	if err != nil {
		return err
	}
	for i := range v10words {
		var w uint32
		for _, p := range v10words[i].parts {
			w |= t.reg[p.word] >> p.from & p.mask << p.to
		}
		binary.LittleEndian.PutUint32(img[v10words[i].off:], w)
	}
	binary.LittleEndian.PutUint32(img[G1.Image+4*formWord:], uint32(form))
	return nil
}

// DecodeV10 reads a version-10 image of exactly ImageSize bytes, with its slots unresolved. A bit that belongs to no
// field must be zero.
func DecodeV10(img []byte) (*Task, error) { return decodeV10(img, 0) }

func decodeV10(img []byte, at int) (*Task, error) {
	if len(img) != ImageSize {
		return nil, imagef(at, "version-10 image of %#x bytes: it has %#x", len(img), ImageSize)
	}
	t := New()
	next := 0
	for off := 0; off < ImageSize; off += 4 {
		w := binary.LittleEndian.Uint32(img[off:])
		mask := uint32(0)
		switch {
		case next < len(v10words) && v10words[next].off == off:
			mask = v10words[next].mask
			for _, p := range v10words[next].parts {
				t.reg[p.word] |= w >> p.to & p.mask << p.from
			}
			next++
		case off == G1.Image+4*formWord:
			mask = formBits
		}
		if extra := w &^ mask; extra != 0 {
			return nil, imagef(at+off, "%s = %#x: bits %#x belong to no field", wordName(off), w, extra)
		}
	}
	form := binary.LittleEndian.Uint32(img[G1.Image+4*formWord:])
	if int(form) >= len(forms) {
		return nil, imagef(at+G1.Image+4*formWord, "form %d: forms are 0 to %d", form, len(forms)-1)
	}
	t.Spans = forms[form].spans(t)
	if want, err := t.form(); err != nil || want != int(form) {
		// A task that streams coefficients is written whole in its current form.
		return nil, imagef(at+G1.Image+4*formWord, "form %d (%s): the task's records are those of form %d (%s)", form,
			forms[form].name, want, forms[want].name)
	}
	return t, nil
}

// ImageError reports a version-10 image, or a file of images, that breaks a rule.
type ImageError struct {
	Off int64 // byte offset in what was read
	Msg string
}

func (e *ImageError) Error() string { return fmt.Sprintf("image byte %#x: %s", e.Off, e.Msg) }

func imagef(off int, format string, args ...any) error {
	return &ImageError{int64(off), fmt.Sprintf(format, args...)}
}
