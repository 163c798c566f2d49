package netplist

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// maxWeights is the largest weight file, in bytes.
const maxWeights = 4 << 30

// weightFiles are the weight files of a description, each read once.
type weightFiles struct {
	root *os.Root
	open map[string]*weightFile // by path in the folder
}

// A weightFile is a weight file in memory.
type weightFile struct {
	name string
	data []byte
	// fp16 caches the file as fp16 numbers, converted from the fp32 numbers that begin at byte 0 to 3: for any number
	// of units that read it, the file is converted at most four times.
	fp16 [4][]byte
	err  error
}

// local returns the path in the folder for a description's path: the path itself if it is local and names a file, else
// its last element.
func (w *weightFiles) local(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if filepath.IsLocal(p) {
		if info, err := w.root.Stat(p); err == nil && info.Mode().IsRegular() {
			return path.Clean(p)
		}
	}
	return path.Base(p)
}

// file returns the weight file with the path p in the description.
func (w *weightFiles) file(p string) (*weightFile, error) {
	if w.root == nil {
		return nil, fmt.Errorf("the folder of weight files is not open")
	}
	name := w.local(p)
	if f := w.open[name]; f != nil {
		return f, f.err
	}
	f := &weightFile{name: name}
	f.data, f.err = w.read(name)
	w.open[name] = f
	return f, f.err
}

func (w *weightFiles) read(name string) ([]byte, error) {
	info, err := w.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxWeights {
		return nil, fmt.Errorf("%s: a weight file is a regular file of at most %d bytes, got %d", name,
			int64(maxWeights), info.Size())
	}
	f, err := w.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, err
}

// Element types of coefficients, with their bytes.
var elementBytes = map[string]int64{elementFloat16: 2, "Float32": 4}

// coefficients returns numbers of a weight file as an fp16 constant. The keys are
// prefix with Index, Offset and Type.
func (n *network) coefficients(d *dict, prefix string, shape ...int64) *ir.Const {
	index := d.integer(prefix+"Index", 0, 0, math.MaxInt32)
	offset := d.integer(prefix+"Offset", 0, 0, math.MaxInt64)
	typ := d.word(prefix+"Type", "a description has no scale and zero point for other types: write "+
		"the coefficients as "+elementFloat16, elementFloat16, "Float32")
	t := ir.TensorOf(ir.FP16, shape...)
	if n.r.err != nil {
		return nil
	}
	if index >= int64(len(n.weights)) {
		d.fail(prefix+"Index", fmt.Sprintf("the network's Weights lists %d files", len(n.weights)), fmt.Sprint(index),
			"list the weight file or correct the index")
		return nil
	}
	f, err := n.r.files.file(n.weights[index])
	if err != nil {
		d.fail(prefix+"Index", fmt.Sprintf("weight file %s cannot be read: %s", shown(n.weights[index]), err),
			fmt.Sprint(index), "put the file beside the description, or name the folder that has it")
		return nil
	}
	size := elementBytes[typ]
	have := int64(len(f.data))
	elems := t.Elems()
	if elems < 0 || elems > maxSize || offset > have || elems*size > have-offset {
		d.fail(prefix+"Offset", fmt.Sprintf("%s as %s takes %d bytes, and %s has %d", ir.ShapeString(shape), typ,
			elems*size, f.name, have), fmt.Sprint(offset),
			"use the weight file that belongs to the description, or correct the offset")
		return nil
	}
	c := &ir.Const{Type: t, Blob: fmt.Sprintf("%s@%d", f.name, offset)}
	if size == 2 {
		c.Data = f.data[offset : offset+2*elems]
	} else {
		first := offset / 4 * 2
		c.Data = f.asFP16(int(offset % 4))[first : first+2*elems]
	}
	return c
}

// asFP16 returns the fp32 numbers from byte phase on as fp16.
func (f *weightFile) asFP16(phase int) []byte {
	if f.fp16[phase] == nil {
		src := f.data[phase:]
		out := make([]byte, 0, len(src)/4*2)
		for ; len(src) >= 4; src = src[4:] {
			out = ir.AppendElem(out, ir.FP16, float64(math.Float32frombits(binary.LittleEndian.Uint32(src))))
		}
		f.fp16[phase] = out
	}
	return f.fp16[phase]
}
