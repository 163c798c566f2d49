package broker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

// laneMark separates the name of the kernel from the lane in the name of a symbol.
const laneMark = "_ne_"

// extent is a run of bytes of a container's file.
type extent struct{ off, size int64 }

func coefficients(container []byte) (map[string][]extent, error) {
	f, err := hwx.Read(container)
	if err != nil {
		return nil, err
	}
	constant := map[*hwx.Section]bool{}
	for _, c := range f.ConstantSections() {
		constant[c] = true
	}
	tiles := map[int][]hwx.Symbol{} // by the number of their section
	for _, s := range f.Symbols() {
		if s.Type == hwx.SymSection && s.Desc == hwx.DescLive {
			tiles[int(s.Sect)] = append(tiles[int(s.Sect)], s)
		}
	}
	parts := map[string][]extent{}
	for i, c := range f.Sections() {
		if !constant[c] {
			continue
		}
		if c.Offset == 0 || c.Size == 0 || uint64(c.Offset)+c.Size > uint64(len(container)) {
			continue
		}
		name := c.Name.String()
		parts[name] = append(parts[name], extent{int64(c.Offset), int64(c.Size)})
		live := slices.DeleteFunc(tiles[i+1], func(s hwx.Symbol) bool {
			return s.Value < c.Addr || s.Value-c.Addr >= c.Size
		})
		starts := make([]uint64, 0, len(live)+1)
		for _, s := range live {
			starts = append(starts, s.Value)
		}
		starts = append(starts, c.Addr+c.Size)
		slices.Sort(starts)
		starts = slices.Compact(starts)
		for _, s := range live {
			kernel, _, ok := strings.Cut(s.Name, laneMark)
			if !ok {
				continue
			}
			i, _ := slices.BinarySearch(starts, s.Value)
			parts[kernel] = append(parts[kernel], extent{int64(c.Offset) + int64(s.Value-c.Addr),
				int64(starts[i+1] - s.Value)})
		}
	}
	return parts, nil
}

// Adapt returns a copy of a base container in which the coefficients come from weight files. Everything else is the
// base's, byte for byte. A file is refused if it names no coefficients, has another size, or replaces bytes that
// another file replaces.
func Adapt(base []byte, files Files) ([]byte, error) {
	parts, err := coefficients(base)
	if err != nil {
		return nil, err
	}
	type placed struct {
		extent
		by string
	}
	var taken []placed
	out := bytes.Clone(base)
	for _, f := range files {
		es, ok := parts[f.Name]
		if !ok {
			return nil, fmt.Errorf("weight file %q: the base has no coefficients of that name; name a section of "+
				"constants or a kernel of its symbols", f.Name)
		}
		want := int64(0)
		for _, e := range es {
			want += e.size
		}
		if int64(len(f.Data)) != want {
			return nil, fmt.Errorf("weight file %q has %d bytes; the base's coefficients have %d",
				f.Name, len(f.Data), want)
		}
		data := f.Data
		for _, e := range es {
			copy(out[e.off:e.off+e.size], data)
			data = data[e.size:]
			taken = append(taken, placed{e, f.Name})
		}
	}
	slices.SortFunc(taken, func(a, c placed) int { return int(a.off - c.off) })
	for i := 1; i < len(taken); i++ {
		if a, c := taken[i-1], taken[i]; a.off+a.size > c.off {
			return nil, fmt.Errorf("weight files %q and %q both replace the byte at offset %#x of the container", a.by,
				c.by, c.off)
		}
	}
	return out, nil
}

// WeightsOf returns the weight files with which Adapt makes a container from a base: those sections of constants that
// differ. Containers that differ in anything else are refused, as are equal ones.
func WeightsOf(base, adapted []byte) (Files, error) {
	parts, err := coefficients(base)
	if err != nil {
		return nil, err
	}
	if len(base) != len(adapted) {
		return nil, fmt.Errorf("the adapter has %d bytes and its base %d: they are not of one graph", len(adapted),
			len(base))
	}
	f, err := hwx.Read(base)
	if err != nil {
		return nil, err
	}
	var files Files
	seen := map[string]bool{}
	for _, c := range f.ConstantSections() {
		name := c.Name.String()
		if seen[name] {
			continue
		}
		seen[name] = true
		var have, want []byte
		for _, e := range parts[name] {
			have = append(have, base[e.off:e.off+e.size]...)
			want = append(want, adapted[e.off:e.off+e.size]...)
		}
		if !bytes.Equal(have, want) {
			files = append(files, File{name, want})
		}
	}
	if files == nil {
		return nil, fmt.Errorf("the adapter's coefficients are those of its base")
	}
	return files, sameTasks(f, base, adapted)
}

// sameTasks refuses two containers whose sections differ in more than the bytes of constants.
func sameTasks(f *hwx.File, base, adapted []byte) error {
	g, err := hwx.Read(adapted)
	if err != nil {
		return err
	}
	constant := map[string]bool{}
	for _, c := range f.ConstantSections() {
		constant[c.Name.String()] = true
	}
	xs, ys := f.Sections(), g.Sections()
	same := len(xs) == len(ys)
	for i := 0; same && i < len(xs); i++ {
		x, y := xs[i], ys[i]
		same = x.Name == y.Name && x.Addr == y.Addr && x.Size == y.Size && x.Offset == y.Offset
		if from, n := int64(x.Offset), int64(x.Size); same && x.Offset != 0 && !constant[x.Name.String()] {
			same = from+n <= int64(len(base)) && bytes.Equal(base[from:from+n], adapted[from:from+n])
		}
	}
	if !same {
		return errors.New("the adapter differs from its base in more than coefficients; patch the base to make it")
	}
	return nil
}

// CreateInstanceWithWeights makes an instance whose tasks are the base's.
func (s *Session) CreateInstanceWithWeights(ctx context.Context, req WeightsRequest) (reply *InstanceReply, err error) {
	end, err := s.enter(ctx, mWeights, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	if req.WeightFileCount != len(req.WeightFiles) || req.WeightFileCount < 1 {
		return nil, errorf(mWeights, BadArgument,
			"the weight-file count is %d but there are %d weight files; want equal numbers, at least 1",
			req.WeightFileCount, len(req.WeightFiles))
	}
	b := s.b
	b.mu.Lock()
	base := s.named(req.Base)
	b.mu.Unlock()
	if base == nil {
		return nil, errorf(mWeights, NotFound,
			"no resident base model %q is visible to %v; load one with that Identifier, and with Share if it is "+
				"for other processes",
			req.Base, &s.id)
	}
	container, err := Adapt(base.container, req.WeightFiles)
	if err != nil {
		return nil, errorf(mWeights, BadArgument, "base %q: %v", req.Base, err)
	}
	b.load.Lock()
	defer b.load.Unlock()
	b.mu.Lock()
	same := s.named(req.Base) == base
	b.mu.Unlock()
	if !same {
		return nil, errorf(mWeights, NotFound, "base model %q was unloaded while its adapter was created", req.Base)
	}
	if err := s.mayTake(mWeights, int64(len(container))); err != nil {
		return nil, err
	}
	key := residentKey{owner: s.owner, digest: sha256.Sum256(container), process: s.id.PID, adapter: 1}
	r, err := b.create(s, key, container, base.procs, req.QoS)
	if err != nil {
		return nil, failed(mWeights, "create", err)
	}
	b.mu.Lock()
	r.base = base
	r.holders++
	base.holders++
	s.bytes += int64(len(container))
	b.use++
	base.lastUse = b.use
	b.mu.Unlock()
	return s.instantiate(mWeights, req.InstanceRequest, nil, r)
}
