package hwx

import (
	"fmt"
	"maps"
	"slices"
)

// MaxSurfaces is the limit of the surfaces of an image. It keeps the shapes' type numbers within the 16-bit desc of a
// symbol.
const MaxSurfaces = 10000

// check returns an error for an image that has no valid container. total is the size of its constants.
func (m *Image) check(f *form, total uint64) error {
	if _, ok := programForms[m.Layout]; !ok {
		return &BuildError{Field: "Layout", Msg: "want SurfacesFirst or TextFirst", Val: int(m.Layout)}
	}
	if len(m.Text) == 0 || len(m.Text)%4 != 0 {
		return &BuildError{
			Field: "Text",
			Msg:   "want a whole number of 32-bit words, at least one task; bytes",
			Val:   len(m.Text),
		}
	}
	if m.Layout == TextFirst && f.head != 0 {
		return &BuildError{Field: "Layout", Msg: "packed tasks are only in SurfacesFirst", Val: int(m.Layout)}
	}
	if m.Scratch > AddrLimit {
		return &BuildError{Field: "Scratch", Msg: "larger than the engine's address space", Val: m.Scratch}
	}
	if m.MaxKernelSection%Page != 0 {
		return &BuildError{
			Field: "MaxKernelSection",
			Msg:   fmt.Sprintf("want a multiple of %#x", Page),
			Val:   m.MaxKernelSection,
		}
	}
	if len(m.Procedures) == 0 {
		return &BuildError{Field: "Procedures", Msg: "want at least one"}
	}
	if len(m.Surfaces) > MaxSurfaces {
		return &BuildError{Field: "Surfaces", Msg: fmt.Sprintf("limit %d", MaxSurfaces), Val: len(m.Surfaces)}
	}
	for i, l := range m.Banner {
		if slices.ContainsFunc([]byte(l), func(c byte) bool { return c == 0 || c == '\n' }) {
			return &BuildError{
				Field: fmt.Sprintf("Banner[%d]", i),
				Msg:   "a line contains neither NUL nor line end",
				Val:   l,
			}
		}
	}
	procs, surfaces := map[string]bool{}, map[string]bool{}
	for i := range m.Procedures {
		if err := m.Procedures[i].check(fmt.Sprintf("Procedures[%d]", i), f, m, procs); err != nil {
			return err
		}
	}
	if m.Procedures[0].Offset != f.head {
		return &BuildError{
			Field: "Procedures[0].Offset",
			Msg:   fmt.Sprintf("the program starts at the start of the text, its first task at %#x", f.head),
			Val:   m.Procedures[0].Offset,
		}
	}
	for i := range m.Surfaces {
		if err := m.Surfaces[i].check(fmt.Sprintf("Surfaces[%d]", i), procs, surfaces); err != nil {
			return err
		}
	}
	if err := m.checkOrder(surfaces); err != nil {
		return err
	}
	for i := range m.Procedures {
		if err := m.Procedures[i].checkBars(fmt.Sprintf("Procedures[%d].Bars", i), f, m, surfaces); err != nil {
			return err
		}
	}
	for i, k := range m.Kernels {
		field := fmt.Sprintf("Kernels[%d]", i)
		if err := imageName(field+".Name", k.Name); err != nil {
			return err
		}
		if total == 0 {
			return &BuildError{Field: field, Msg: "names a tile of an image without constants", Val: k.Name}
		}
		if k.Offset > total || k.Live && k.Offset == total {
			return &BuildError{
				Field: field + ".Offset",
				Msg:   fmt.Sprintf("outside the constants (%#x bytes)", total),
				Val:   k.Offset,
			}
		}
	}
	return nil
}

// checkOrder requires that TensorOrder, if set, names every surface once.
func (m *Image) checkOrder(surfaces map[string]bool) error {
	if m.TensorOrder == nil {
		return nil
	}
	if len(m.TensorOrder) != len(m.Surfaces) {
		return &BuildError{
			Field: "TensorOrder",
			Msg:   fmt.Sprintf("want the %d surfaces, each once", len(m.Surfaces)),
			Val:   len(m.TensorOrder),
		}
	}
	seen := map[string]bool{}
	for i, n := range m.TensorOrder {
		if !surfaces[n] || seen[n] {
			return &BuildError{
				Field: fmt.Sprintf("TensorOrder[%d]", i),
				Msg:   "unknown or duplicate surface",
				Val:   n,
			}
		}
		seen[n] = true
	}
	return nil
}

func imageName(field, s string) error {
	if s == "" {
		return &BuildError{Field: field, Msg: "want a name"}
	}
	if err := checkName(field, s); err != nil {
		return &BuildError{Field: field, Msg: fmt.Sprintf("want at most %d bytes and no NUL", maxName), Val: s}
	}
	return nil
}

// maxSurfaceName leaves space for the shape in the symbol of a surface.
const maxSurfaceName = maxName - 512

func (e *Entry) check(field string, f *form, m *Image, seen map[string]bool) error {
	if err := imageName(field+".Name", e.Name); err != nil {
		return err
	}
	if seen[e.Name] {
		return &BuildError{Field: field + ".Name", Msg: "procedure names are unique in a file", Val: e.Name}
	}
	seen[e.Name] = true
	n := uint64(len(m.Text))
	if e.Offset%f.align != 0 || e.Offset >= n || e.Offset < f.head || !allZero(m.Text[e.Offset-f.head:e.Offset]) {
		msg := fmt.Sprintf("want a multiple of %#x inside the text (%#x bytes)", f.align, n)
		if f.head > 0 {
			msg += fmt.Sprintf(", with %#x zero bytes before it", f.head)
		}
		return &BuildError{Field: field + ".Offset", Msg: msg, Val: e.Offset}
	}
	if e.FirstWords == 0 || uint64(e.FirstWords)*4 > n-e.Offset {
		return &BuildError{
			Field: field + ".FirstWords",
			Msg:   fmt.Sprintf("the first task must be inside the text (%#x bytes)", n),
			Val:   e.FirstWords,
		}
	}
	if e.Tasks == 0 {
		return &BuildError{Field: field + ".Tasks", Msg: "want at least one", Val: e.Tasks}
	}
	return nil
}

func (e *Entry) checkBars(field string, f *form, m *Image, surfaces map[string]bool) error {
	bars := Bars
	if f.head > 0 {
		bars /= 2
	}
	for _, i := range slices.Sorted(maps.Keys(e.Bars)) {
		ref, field := e.Bars[i], fmt.Sprintf("%s[%d]", field, i)
		if i < 0 || i >= bars {
			return &BuildError{Field: field, Msg: fmt.Sprintf("there are %d buffer-access registers", bars), Val: i}
		}
		switch {
		case ref.Kind == BarText || ref.Kind == BarConstants:
		case ref.Kind == BarScratch:
			if m.Scratch == 0 {
				return &BuildError{Field: field, Msg: "points at scratch, but the image has none"}
			}
		case ref.Kind == BarSurface:
			if !surfaces[ref.Surface] {
				return &BuildError{Field: field, Msg: "unknown surface", Val: ref.Surface}
			}
		default:
			return &BuildError{
				Field: field + ".Kind",
				Msg:   "want BarText, BarConstants, BarScratch or BarSurface",
				Val:   int(ref.Kind),
			}
		}
	}
	return nil
}

func (s *Surface) check(field string, procs, seen map[string]bool) error {
	if err := imageName(field+".Name", s.Name); err != nil {
		return err
	}
	if len(s.Name) > maxSurfaceName {
		return &BuildError{
			Field: field + ".Name",
			Msg:   fmt.Sprintf("want at most %d bytes", maxSurfaceName),
			Val:   s.Name,
		}
	}
	if seen[s.Name] {
		return &BuildError{Field: field + ".Name", Msg: "surface names are unique in a file", Val: s.Name}
	}
	seen[s.Name] = true
	if !procs[s.Procedure] {
		return &BuildError{Field: field + ".Procedure", Msg: "unknown procedure", Val: s.Procedure}
	}
	if _, ok := windows[s.Binding]; !ok {
		return &BuildError{Field: field + ".Binding", Msg: "want BindInput or BindOutput", Val: s.Binding}
	}
	if s.Size == 0 || s.Size > AddrLimit {
		return &BuildError{
			Field: field + ".Size",
			Msg:   fmt.Sprintf("want 1 to %#x bytes", uint64(AddrLimit)),
			Val:   s.Size,
		}
	}
	for i, d := range s.Dims {
		if d == 0 {
			return &BuildError{
				Field: fmt.Sprintf("%s.Dims[%d]", field, i),
				Msg:   "an extent is at least 1; pad ranks below four with ones",
				Val:   d,
			}
		}
	}
	if n, ok := s.span(); !ok || n > s.Size {
		return &BuildError{
			Field: field + ".Strides",
			Msg:   fmt.Sprintf("extents %v with strides %v exceed the surface's size", s.Dims, s.Strides),
			Val:   s.Size,
		}
	}
	return nil
}
