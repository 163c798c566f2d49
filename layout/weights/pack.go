package weights

import (
	"encoding/binary"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/numerics/vector"
)

// Pack writes the parts of one task into dst, which must have exactly Size bytes: parts in core order, each
//
//	[table, 128 bytes] [codebook] then per output channel group
//	[lanes fp16 scales] [lanes fp16 biases] red rows of lanes fp16 weights
//
// where row r, lane l is W[First+Start+c*lanes+l][r], or the index of that value in the codebook, or the byte that is
// multiplied with the scale. A grouped form has the same plane once per conv group, each padded; a depthwise form has
// [scale] [bias] and taps channel after channel. workers is the number of goroutines, 0 for one per processor; the
// bytes do not depend on it.
func (p *Plan) Pack(dst []byte, k *Kernel, workers int) error {
	sizes, err := p.PartSizes(k)
	if err != nil {
		return err
	}
	total := 0
	for _, s := range sizes {
		total += s
	}
	if len(dst) != total {
		return fmt.Errorf("weights: destination has %d bytes, want %d", len(dst), total)
	}
	var js []job
	var at []int
	n := 0
	for j := range p.jobs(k, sizes) {
		js, at = append(js, j), append(at, n)
		n += j.size
	}
	run(len(js), workers, func(i int) { js[i].do(dst[at[i] : at[i]+js[i].size]) })
	return nil
}

// job fills one stretch of the destination that no other job touches.
type job struct {
	size int    // bytes of the stretch, including padding
	rows []byte // lanes*red fp16 weights in rows; the rows of a transposed kernel are stride bytes apart
	bias []uint16
	lead []byte  // all of a stretch before the coefficients
	book Palette // of coefficients that are stored as indices
	// scales are of coefficients that are stored as bytes, one for each row.
	scales []uint16
	red    int
	// lanes is the number of rows side by side; a depthwise job has lanes 0
	// and takes every step-th row in turn instead.
	lanes, step int
	stride      int // of a transposed kernel, in bytes; 0 for another
}

// jobs returns what fills the parts of one task, in the order of the bytes.
func (p *Plan) jobs(k *Kernel, sizes [MaxCores]int) iter.Seq[job] {
	return func(yield func(job) bool) {
		for c, size := range sizes {
			if size > 0 && !p.coreJobs(k, c, size, yield) {
				return
			}
		}
	}
}

// coreJobs calls yield with the jobs of the part of core c, which has size bytes.
func (p *Plan) coreJobs(k *Kernel, c, size int, yield func(job) bool) bool {
	red := k.Red()
	if lead := k.lead(); len(lead) > 0 {
		if !yield(job{size: len(lead), lead: lead}) {
			return false
		}
		size -= len(lead)
	}
	if p.Form == Depthwise {
		first := p.First + c
		j := job{size: size, rows: k.W[2*red*first : 2*red*(p.First+p.Out)], red: red, step: p.Cores,
			book: k.Book}
		if k.Bias != nil {
			j.bias = k.Bias[first : p.First+p.Out]
		}
		if k.Scales != nil {
			j.scales = k.Scales[first : p.First+p.Out]
		}
		return yield(j)
	}
	per := p.Out / p.ConvGroups
	for cg := range p.ConvGroups {
		left := size / p.ConvGroups
		for i, g := range p.Groups {
			if c >= g.Live {
				continue
			}
			first := p.First + cg*per + g.Start + c*g.Lanes
			j := job{rows: k.rows(first, g.Lanes), red: red, lanes: g.Lanes, stride: k.stride(), book: k.Book}
			j.size = k.PlaneBytes(g.Lanes)
			if k.Bias != nil {
				j.bias = k.Bias[first : first+g.Lanes]
			}
			if k.Scales != nil {
				j.scales = k.Scales[first : first+g.Lanes]
			}
			if i == len(p.Groups)-1 || c >= p.Groups[i+1].Live {
				j.size = left // the last group of the plane owns the padding
			}
			left -= j.size
			if !yield(j) {
				return false
			}
		}
	}
	return true
}

// run calls do with each number below n exactly once.
func run(n, workers int, do func(i int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg mapfault.Group // constants are in mapped files
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	wg.Wait()
}

// do fills d, which has j.size bytes.
func (j *job) do(d []byte) {
	if j.lead != nil {
		copy(d, j.lead)
		return
	}
	if j.lanes == 0 && (j.book != nil || j.scales != nil) {
		j.compressedChannels(d)
		return
	}
	if j.lanes == 0 {
		rb := 2 * j.red
		for r := 0; r*rb < len(j.rows); r += j.step {
			if j.bias != nil {
				binary.LittleEndian.PutUint16(d, j.bias[r])
				d = d[2:]
			}
			copy(d, j.rows[r*rb:(r+1)*rb])
			d = d[rb:]
		}
		clear(d)
		return
	}
	for _, row := range [][]uint16{j.scales, j.bias} {
		for _, v := range row {
			binary.LittleEndian.PutUint16(d, v)
			d = d[2:]
		}
	}
	switch {
	case j.book != nil:
		j.indexed(d)
		return
	case j.scales != nil:
		j.octets(d)
		return
	}
	if j.lanes == 1 && j.stride == 0 {
		clear(d[copy(d, j.rows):])
		return
	}
	if j.stride > 0 {
		gather(d, j.rows, j.lanes, j.red, j.stride)
	} else {
		vector.Interleave(d, j.rows, j.lanes, j.red)
	}
	clear(d[2*j.lanes*j.red:])
}

// beginning returns a job whose bytes begin with the first n of the job: a short one if its coefficients are fp16
// numbers side by side, or else the job itself.
func (j *job) beginning(n int) job {
	b := *j
	if j.lanes == 0 || j.lead != nil || j.book != nil || j.scales != nil {
		return b
	}
	column := 2 * j.lanes
	red := (max(n-2*len(j.bias), 0) + column - 1) / column
	if red >= j.red {
		return b
	}
	b.red, b.size = red, 2*len(j.bias)+red*column
	if j.stride == 0 {
		b.rows = make([]byte, 0, red*column)
		for r := range j.lanes {
			at := 2 * j.red * r
			b.rows = append(b.rows, j.rows[at:at+2*red]...)
		}
	}
	return b
}

// gather copies lanes fp16 numbers from each of red places in src, stride bytes apart, to dst, one after another.
func gather(dst, src []byte, lanes, red, stride int) {
	n := 2 * lanes
	for r := range red {
		copy(dst[r*n:r*n+n], src[r*stride:])
	}
}
