package passes

import (
	"crypto/sha256"
	"maps"
	"sync"

	"github.com/zinc-compiler/zinc/ir"
)

// Memory is what compilations of versions of a model, one after another, share: weights that were multiplied by
// constants. The model's weight files must not change meanwhile.
type Memory struct {
	mu     sync.Mutex // of what follows
	scaled map[scaling]*scaledRows
}

// NewMemory returns an empty memory.
func NewMemory() *Memory { return &Memory{scaled: map[scaling]*scaledRows{}} }

// Next prepares for another compilation: it drops what the last one did not use.
func (m *Memory) Next() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.scaled, func(_ scaling, r *scaledRows) bool { return !r.used })
	for _, r := range m.scaled {
		r.used = false
	}
}

// scaling identifies weights by their type and place in a file, and the factors of their rows.
type scaling struct {
	weights, place string
	factors        [sha256.Size]byte
}

// scaledRows are weights multiplied by factors; product is nil if they lose too much.
type scaledRows struct {
	product *ir.Const
	used    bool
}

// scale returns weights with each row multiplied by its factor, which is factors itself or its element for the row, or
// nil if they lose too much (loses).
func (m *Memory) scale(w, factors *ir.Const, each func(row int64) float64) *ir.Const {
	if m == nil || !w.Stored {
		return scaled(w, each)
	}
	k := scaling{weights: w.Type.String(), place: w.Blob}
	h := sha256.New()
	h.Write([]byte(factors.Type.DType.String() + " "))
	h.Write(factors.Data)
	h.Sum(k.factors[:0])
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.scaled[k]
	if r == nil {
		r = &scaledRows{product: scaled(w, each)}
		m.scaled[k] = r
	}
	r.used = true
	return r.product
}

// scaled is Memory.scale without a memory.
func scaled(w *ir.Const, each func(row int64) float64) *ir.Const {
	product := w.ScaleRows(each)
	if loses(w, product, each) {
		return nil
	}
	return product
}
