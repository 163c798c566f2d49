package td

import (
	"cmp"
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
	{"current", currentSpans},
	{"full", func(*Task) []Span { return wholeSpans }},
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

// setForm gives the task the records of a form. The codec that writes the task has the current one.
func (t *Task) setForm(form int) {
	if t.Spans = nil; form > 0 {
		t.Spans = forms[form].spans(t)
	}
}

// EncodeV10 returns the task's version-10 image, ImageSize bytes.
func EncodeV10(t *Task) ([]byte, error) {
	img := make([]byte, ImageSize)
	return img, t.putV10(img)
}

// formAt is the byte offset of the form in an image.
var formAt = G1.Image() + 4*formWord

func (t *Task) putV10(img []byte) error {
	form, err := t.form()
	if err != nil {
		return cmp.Or(t.err, err)
	}
	var ws [ImageSize / 4]uint32
	low := t
	for i := range uppers {
		u := &uppers[i]
		v := t.val[u.field] >> u.from
		if v == 0 {
			continue
		}
		if low == t {
			c := *t
			low = &c
		}
		low.val[u.field] &= 1<<u.from - 1
		ws[u.word] |= v << u.bit
	}
	if err := V10.pack(ws[:], low); err != nil {
		return err
	}
	ws[formAt/4] = uint32(form)
	for i, w := range ws {
		binary.LittleEndian.PutUint32(img[4*i:], w)
	}
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
	var ws, free [ImageSize / 4]uint32
	for i := range ws {
		ws[i] = binary.LittleEndian.Uint32(img[4*i:])
		free[i] = ws[i]
	}
	for i := range V10.placed {
		p := &V10.placed[i]
		free[p.word] &^= p.mask << p.bit
	}
	for i := range uppers {
		free[uppers[i].word] &^= uppers[i].mask << uppers[i].bit
	}
	free[formAt/4] &^= formBits
	if i := slices.IndexFunc(free[:], func(w uint32) bool { return w != 0 }); i >= 0 {
		return nil, imagef(at+4*i, "%s = %#x: bits %#x belong to no field", wordName(4*i), ws[i], free[i])
	}
	V10.unpack(t, ws[:])
	for i := range uppers {
		u := &uppers[i]
		t.val[u.field] |= ws[u.word] >> u.bit & u.mask << u.from
	}
	form := ws[formAt/4]
	if int(form) >= len(forms) {
		return nil, imagef(at+formAt, "form %d: forms are 0 to %d", form, len(forms)-1)
	}
	t.setForm(int(form))
	if want, err := t.form(); err != nil || want != int(form) {
		// A task that streams coefficients is written whole in its current form.
		return nil, imagef(at+formAt, "form %d (%s): the task's records are those of form %d (%s)", form,
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
