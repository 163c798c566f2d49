package compare

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/compile/provenance"
)

// blob is a range of a container's constants that belong together.
type blob struct {
	key, subject string
	roles        string // of its bytes
	use          string // its operation and rule, "" if unknown
	names        []string
	off          uint64 // in the constants
	data         []byte
	layout       []provenance.Repeat // roles of the bytes, nil if unknown
}

// packed compares the constants of the containers: by origin if both sides have a debug database, else by the tasks
// that stream them.
func (p *pairing) packed() (out []*Change, err error) {
	if p.a.file == nil || p.b.file == nil {
		return nil, nil
	}
	var a, b []blob
	switch {
	case p.a.db != nil && p.b.db != nil:
		a, b = p.a.extents(), p.b.extents()
	case p.missing(decodable) == "":
		if a, b, err = p.lanes(); err != nil {
			return nil, err
		}
	default:
		a = []blob{{key: "all", subject: "the constants", data: p.a.file.ConstantBytes()}}
		b = []blob{{key: "all", subject: "the constants", data: p.b.file.ConstantBytes()}}
	}
	to, from := matchBy(a, b, func(x *blob) string { return x.key })
	again(a, b, to, from, func(x *blob) string { return x.use })
	for i := range a {
		x := &a[i]
		if to[i] < 0 {
			out = append(out, newChange(Constants, Removed, x.subject, x.names, fmt.Sprintf("%d bytes", len(x.data))))
			continue
		}
		y := &b[to[i]]
		if bytes.Equal(x.data, y.data) {
			continue
		}
		subject := x.subject
		if len(y.subject) > len(subject) && strings.HasPrefix(y.subject, subject) {
			subject = y.subject // more precise: a database names its task
		}
		out = append(out, newChange(Constants, Changed, subject, merged(x.names, y.names), blobDetails(x, y)...))
	}
	for j := range b {
		if y := &b[j]; from[j] < 0 {
			out = append(out, newChange(Constants, Added, y.subject, y.names, fmt.Sprintf("%d bytes", len(y.data))))
		}
	}
	return out, nil
}

// blobDetails counts the differences between two ranges by role. It counts pairs of bytes, since most constants are
// fp16.
func blobDetails(x, y *blob) (out []string) {
	if x.roles != y.roles {
		out = append(out, "holds "+x.roles+" -> "+y.roles)
	}
	if len(x.data) != len(y.data) {
		out = append(out, fmt.Sprintf("%d bytes -> %d bytes", len(x.data), len(y.data)))
		if x.roles != "" {
			return out // packed differently: equal offsets do not correspond
		}
	}
	m := min(len(x.data), len(y.data))
	parts := x.layout
	if len(x.data) != len(y.data) || len(parts) == 0 {
		parts = []provenance.Repeat{{Times: 1,
			Runs: []provenance.Run{{Role: "bytes", Size: uint32(min(uint64(m), math.MaxUint32))}}}}
	}
	type tally struct {
		role          string
		n, all, first int
	}
	var roles []*tally
	by := map[string]*tally{}
	at := 0
	for _, part := range parts {
		for range part.Times {
			for _, run := range part.Runs {
				t := by[run.Role]
				if t == nil {
					t = &tally{role: run.Role}
					by[run.Role] = t
					roles = append(roles, t)
				}
				end := min(at+int(run.Size), m)
				for i := at; i < end; i += 2 {
					e := min(i+2, end)
					t.all++
					if !bytes.Equal(x.data[i:e], y.data[i:e]) {
						if t.n++; t.n == 1 {
							t.first = i
						}
					}
				}
				if at = end; at == m {
					break
				}
			}
			if at == m {
				break
			}
		}
	}
	for _, t := range roles {
		if t.n == 0 {
			continue
		}
		text := fmt.Sprintf("%s: %d of %d halfwords, the first %d bytes into it", t.role, t.n, t.all, t.first)
		if t.first+2 <= m {
			fp16 := func(b []byte) float32 {
				return float16.Frombits(binary.LittleEndian.Uint16(b[t.first:])).Float32()
			}
			text += fmt.Sprintf(", as fp16 %.6g -> %.6g", fp16(x.data), fp16(y.data))
		}
		out = append(out, text)
	}
	return out
}

// extents returns the stored constants in the debug database.
func (s *Side) extents() (out []blob) {
	all := s.file.ConstantBytes()
	for i := range s.db.Extents {
		x := &s.db.Extents[i]
		if x.Offset > uint64(len(all)) || x.Size > uint64(len(all))-x.Offset {
			continue // the database is not checked against the container
		}
		b := blob{off: x.Offset, data: all[x.Offset : x.Offset+x.Size], layout: x.Layout}
		var roles []string
		for _, r := range x.Roles() {
			if r != provenance.RolePadding && r != provenance.RoleReserved {
				roles = append(roles, r)
			}
		}
		if len(x.Uses) > 0 {
			u := &x.Uses[0]
			b.key = s.key(u.Node) + "\x02" + u.Rule
			b.use = b.key
			b.subject = "packed constants of " + s.label(u.Node) + " by " + u.Rule
		} else {
			b.subject = "packed " + strings.Join(roles, ", ")
		}
		b.roles = strings.Join(roles, ", ")
		b.key += "\x02" + b.roles
		seen := map[string]bool{} // many operations may share a constant
		for k := range x.Uses {
			u := &x.Uses[k]
			for _, n := range s.from(u.Values, u.Bias, u.Table, u.Node) {
				if !seen[n] {
					seen[n] = true
					b.names = append(b.names, n)
				}
			}
		}
		out = append(out, b)
	}
	return out
}

// lanes returns the constants that paired tasks stream, each range once.
func (p *pairing) lanes() (a, b []blob, err error) {
	ca, cb, err := p.bothTasks()
	if err != nil {
		return nil, nil, err
	}
	seenA, seenB := map[uint64]bool{}, map[uint64]bool{}
	allA, allB := p.a.file.ConstantBytes(), p.b.file.ConstantBytes()
	for _, c := range p.chainPairs(ca, cb) {
		to, from := p.taskPairs(c[0], c[1])
		for i := range c[0].tasks {
			key := fmt.Sprintf("%s/%d", c[0].name, i)
			x := streamed(&c[0].tasks[i], allA, key)
			if to[i] < 0 {
				a = append(a, fresh(x, seenA)...)
				continue
			}
			y := streamed(&c[1].tasks[to[i]], allB, key)
			if len(x) == len(y) && seenBoth(x, seenA) && seenBoth(y, seenB) {
				continue
			}
			a, b = append(a, x...), append(b, y...)
			fresh(x, seenA)
			fresh(y, seenB)
		}
		for j := range c[1].tasks {
			if from[j] < 0 {
				b = append(b, fresh(streamed(&c[1].tasks[j], allB, fmt.Sprintf("%s/b%d", c[1].name, j)), seenB)...)
			}
		}
	}
	return a, b, nil
}

func seenBoth(bs []blob, seen map[uint64]bool) bool {
	for i := range bs {
		if !seen[bs[i].off] {
			return false
		}
	}
	return true
}

// fresh returns the ranges not seen before, and marks them.
func fresh(bs []blob, seen map[uint64]bool) (out []blob) {
	for _, b := range bs {
		if !seen[b.off] {
			seen[b.off] = true
			out = append(out, b)
		}
	}
	return out
}

// streamed returns the ranges of constants that a task's lanes stream, in order of address, with adjacent ranges
// merged.
func streamed(t *task, all []byte, key string) (out []blob) {
	if !t.codec.ConstantKernel(t.Task) {
		return nil
	}
	type span struct{ lo, hi uint64 }
	var spans []span
	for p := range t.LaneParts() {
		if s := (span{uint64(p.From), min(uint64(p.To), uint64(len(all)))}); s.lo < s.hi {
			spans = append(spans, s)
		}
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].lo < spans[j].lo })
	subject := "coefficients of " + t.title()
	for k := 0; k < len(spans); {
		s := spans[k]
		for k++; k < len(spans) && spans[k].lo <= s.hi; k++ {
			s.hi = max(s.hi, spans[k].hi)
		}
		out = append(out, blob{
			key: fmt.Sprintf("%s/%d", key, len(out)), subject: subject,
			names: t.names, off: s.lo, data: all[s.lo:s.hi],
		})
	}
	return out
}
