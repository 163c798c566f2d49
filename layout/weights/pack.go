package weights

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/zinc-compiler/zinc/internal/mapfault"
)

// Pack writes the parts of one task into dst, which must have exactly Size bytes: parts in core order, each
//
//	[table, 128 bytes] then per output channel group
//	[lanes bias halves] red rows of lanes halves
//
// where row r, lane l is W[First+Start+c*lanes+l][r]. A grouped form has the same plane once per conv group, each
// padded; a depthwise form has [bias] and taps channel after channel. workers is the number of goroutines, 0 for one
// per processor; the bytes do not depend on it.
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
	run(p.jobs(dst, k, sizes), workers)
	return nil
}

// job fills one stretch of the destination that no other job touches.
type job struct {
	dst  []byte // whole stretch, including padding
	rows []byte // the weight rows, lanes*red halves
	bias []uint16
	lead *Table
	red  int
	// lanes is the number of rows side by side; a depthwise job has lanes 0
	// and takes every step-th row in turn instead.
	lanes, step int
}

func (p *Plan) jobs(dst []byte, k *Kernel, sizes [MaxCores]int) []job {
	red := k.Red()
	var js []job
	for c, size := range sizes {
		part := dst[:size]
		dst = dst[size:]
		if size == 0 {
			continue
		}
		if k.Table != nil {
			js = append(js, job{dst: part[:TableBytes], lead: k.Table})
			part = part[TableBytes:]
		}
		if p.Form == Depthwise {
			first := p.First + c
			j := job{dst: part, rows: k.W[2*red*first : 2*red*(p.First+p.Out)], red: red, step: p.Cores}
			if k.Bias != nil {
				j.bias = k.Bias[first : p.First+p.Out]
			}
			js = append(js, j)
			continue
		}
		plane := len(part) / p.ConvGroups
		per := p.Out / p.ConvGroups
		for cg := range p.ConvGroups {
			body := part[cg*plane : (cg+1)*plane]
			for i, g := range p.Groups {
				if c >= g.Live {
					continue
				}
				first := p.First + cg*per + g.Start + c*g.Lanes
				j := job{rows: k.W[2*red*first : 2*red*(first+g.Lanes)], red: red, lanes: g.Lanes}
				n := 2 * red * g.Lanes
				if k.Bias != nil {
					j.bias = k.Bias[first : first+g.Lanes]
					n += 2 * g.Lanes
				}
				if i == len(p.Groups)-1 || c >= p.Groups[i+1].Live {
					n = len(body) // the last group of the plane owns the padding
				}
				j.dst, body = body[:n], body[n:]
				js = append(js, j)
			}
		}
	}
	return js
}

// run executes the jobs, each exactly once.
func run(js []job, workers int) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(js))
	if workers <= 1 {
		for i := range js {
			js[i].do()
		}
		return
	}
	var next atomic.Int64
	var wg mapfault.Group // constants are in mapped files
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(js) {
					return
				}
				js[i].do()
			}
		})
	}
	wg.Wait()
}

func (j *job) do() {
	if j.lead != nil {
		j.lead.put(j.dst)
		return
	}
	d := j.dst
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
	for _, b := range j.bias {
		binary.LittleEndian.PutUint16(d, b)
		d = d[2:]
	}
	interleave(d, j.rows, j.lanes, j.red)
	clear(d[2*j.lanes*j.red:])
}
