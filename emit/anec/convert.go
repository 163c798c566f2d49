package anec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
)

// An Error reports a container that has no file of this format.
type Error struct {
	Rule  string
	Value string
	Hint  string
}

// Error returns the rule, the value and what to do.
func (e *Error) Error() string { return fmt.Sprintf("anec: %s; got %s; %s", e.Rule, e.Value, e.Hint) }

// What the converter knows of containers: it looks for words in them.
const (
	taskSize  = 0x274      // bytes of a task, each of which has every record
	taskWords = 0x9c       // words of the first task less 1, as a program states it
	taskMark  = 0xf401f800 // the word of a task that has the number of its record of kernel DMA
	fileAlign = 0x1000     // of tasks in the file
	minShape  = 50         // characters of a symbol that is looked at
	cpuMark   = "ctx_"     // in names of ports beside an operation on the CPU
)

const (
	ownHint   = "zinc MODEL --emit=anec writes such a container first"
	splitHint = "the form holds one program of the engine: zinc check MODEL shows what else there is, and zinc split " +
		"cuts a model"
)

// converter looks for words.
type converter struct {
	data []byte
	file *hwx.File
	out  *File
}

// word returns a word, 0 after the end.
func (c *converter) word(i int) uint32 {
	if 4*i+4 > len(c.data) || i < 0 {
		return 0
	}
	return le.Uint32(c.data[4*i:])
}

// find returns the index of the first word of a value from another index on, or -1.
func (c *converter) find(value uint32, from int) int {
	for i := from; 4*i+4 <= len(c.data); i++ {
		if le.Uint32(c.data[4*i:]) == value {
			return i
		}
	}
	return -1
}

// WithHeader returns the file with a header of HeaderSize or ShortSize bytes.
func (f *File) WithHeader(size int) *File {
	g := *f
	g.Rest = header(size)
	return &g
}

// FromContainer returns the file of a container, whose constants are part of its text segment as older compilers placed
// them. Data is part of the container. Errors are *Error, or come from hwx.Read.
func FromContainer(data []byte) (*File, error) {
	f, err := hwx.Read(data)
	if err != nil {
		return nil, err
	}
	if v, err := f.TaskVersion(); err != nil || v != td.V7.Version {
		return nil, &Error{
			fmt.Sprintf("the driver is for the engine of the M1, whose tasks have version %d", td.V7.Version),
			fmt.Sprintf("CPU subtype %d", f.Header.CPUSubtype), "compile for the M1",
		}
	}
	c := &converter{data: data, file: f, out: &File{TaskSize: taskSize, Rest: header(HeaderSize)}}
	for _, step := range []func() error{c.code, c.tasks, c.buffers, c.place, c.tensors, c.bound} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.out, nil
}

// code finds tasks and constants: the section at the base of the addresses, and the one after it.
func (c *converter) code() error {
	if len(c.data)%4 != 0 {
		return &Error{"a container is a whole number of words", fmt.Sprintf("%d bytes", len(c.data)), ownHint}
	}
	segment := c.find(hwx.Base, 0)
	section := c.find(hwx.Base, segment+1)
	text := c.file.Section(hwx.SegText, hwx.SectText)
	if segment < 0 || section < 0 || text == nil || text.Addr != hwx.Base || uint64(c.word(section+2)) != text.Size {
		return &Error{fmt.Sprintf("tasks are at address %#x, before the buffers", hwx.Base), c.where(text), ownHint}
	}
	if text.Size < taskSize {
		return &Error{fmt.Sprintf("tasks have at least %#x bytes", taskSize), fmt.Sprintf("%#x", text.Size), ownHint}
	}
	c.out.TasksSize = text.Size
	at := hwx.Base + up(text.Size, 16)
	i := c.find(uint32(at), 0)
	if c.out.Constants = uint64(c.word(i + 2)); i < 0 || c.out.Constants == 0 || c.out.Constants%16 != 0 {
		return &Error{fmt.Sprintf("constants follow the tasks at %#x, a multiple of 16 bytes", at),
			fmt.Sprintf("%#x bytes there", c.out.Constants), ownHint}
	}
	c.out.Size = c.out.constantsAt() + c.out.Constants
	return nil
}

func (c *converter) where(s *hwx.Section) string {
	if s == nil {
		return "no section of tasks"
	}
	return fmt.Sprintf("tasks at %#x", s.Addr)
}

// tasks counts the tasks of the program, which all have the same size.
func (c *converter) tasks() error {
	i := c.find(taskWords, 0)
	ps := c.file.Procedures()
	switch {
	case len(ps) != 1:
		return &Error{"a file has one program", fmt.Sprintf("%d procedures", len(ps)), splitHint}
	case ps[0].FirstWords != taskWords+1 || ps[0].Entry != hwx.Base || c.word(i-2) != hwx.Base:
		return &Error{fmt.Sprintf("the first task is at %#x and has %#x words", hwx.Base, taskWords+1),
			fmt.Sprintf("%#x words at %#x", ps[0].FirstWords, ps[0].Entry), ownHint}
	}
	c.out.Tasks = c.word(i + 1)
	if c.out.Tasks == 0 || c.out.Tasks >= 0xffff || int(c.out.Tasks) != ps[0].Tasks {
		return &Error{"a program has 1 to 65534 tasks", fmt.Sprint(ps[0].Tasks), splitHint}
	}
	return nil
}

// kinds are the buffers, by the words of their segment: protection twice, sections and flags.
var kinds = map[[4]uint32]int{
	{hwx.ProtRead | hwx.ProtWrite, hwx.ProtRead | hwx.ProtWrite, 1, hwx.SegNoReloc}: scratch,
	{hwx.ProtRead, hwx.ProtRead, 1, hwx.SegWindow | hwx.SegNoReloc}:                 input,
	{hwx.ProtWrite, hwx.ProtWrite, 1, hwx.SegWindow | hwx.SegNoReloc}:               output,
}

// ident returns the key in kinds of the segment whose address is word i.
func (c *converter) ident(i int) (words [4]uint32) {
	for k := range words {
		words[k] = c.word(i + 8 + k)
	}
	return words
}

const (
	scratch = iota
	input
	output
)

// buffers finds the buffers, which follow the tasks and constants in addresses, each after the one before.
func (c *converter) buffers() error {
	var tiles [3][]uint32
	at := hwx.Base + up(c.out.Size, TileSize)
	for range Tiles {
		i := c.find(uint32(at), 0)
		if i < 0 {
			break
		}
		size := uint64(c.word(i + 2))
		if size == 0 || size%TileSize != 0 || size/TileSize > maxTiles {
			return &Error{
				fmt.Sprintf("a buffer has a multiple of %#x bytes, at most %#x times as many", TileSize, maxTiles),
				fmt.Sprintf("%#x at %#x", size, at), splitHint}
		}
		ident := c.ident(i)
		kind, ok := kinds[ident]
		if !ok {
			return &Error{"a segment after the tasks is scratch memory, an input or an output",
				fmt.Sprintf("%#x at %#x", ident, at), ownHint}
		}
		tiles[kind] = append(tiles[kind], uint32(size/TileSize))
		at += size
	}
	in, out := len(tiles[input]), len(tiles[output])
	switch {
	case in == 0 || out == 0 || RegFirst+in+out > Tiles:
		return &Error{fmt.Sprintf("a program has inputs and outputs, %d at most", Tiles-RegFirst),
			fmt.Sprintf("%d inputs and %d outputs", in, out), splitHint}
	case len(tiles[scratch]) > 1:
		return &Error{"a program has one scratch memory", fmt.Sprint(len(tiles[scratch])), ownHint}
	}
	c.out.Inputs, c.out.Outputs = uint32(in), uint32(out)
	c.out.Tiles[RegTasks] = uint32(up(c.out.Size, TileSize) / TileSize)
	copy(c.out.Tiles[RegScratch:], tiles[scratch])
	copy(c.out.Tiles[RegFirst:], tiles[output])
	copy(c.out.Tiles[RegFirst+out:], tiles[input])
	return nil
}

// place finds the bytes of tasks and constants in the file, by a word that every task has.
func (c *converter) place() error {
	first, last, n := -1, -1, 0
	for i := c.find(taskMark, 0); i >= 0; i = c.find(taskMark, i+1) {
		if n++; first < 0 {
			first = i
		}
		last = i
	}
	if n != int(c.out.Tasks) || c.out.TasksSize-uint64(last-first)*4 != taskSize {
		return &Error{fmt.Sprintf("every task has all records, %#x bytes, and the word %#x, which nothing else has",
			taskSize, uint32(taskMark)), fmt.Sprintf("%d such words for %d tasks", n, c.out.Tasks), ownHint}
	}
	start := uint64(first) * 4 / fileAlign * fileAlign
	end := min(start+c.out.Size, uint64(len(c.data)))
	if c.out.Data = c.data[start:end:end]; uint64(len(c.out.Data)) != c.out.Size {
		return &Error{"tasks and constants follow each other in the file", fmt.Sprintf("%#x of %#x bytes", end-start,
			c.out.Size), ownHint}
	}
	return nil
}

// tensors reads the shapes, which are symbols: inputs first, or outputs first if the sizes say so.
func (c *converter) tensors() error {
	var list []Tensor
	for _, s := range c.file.Symbols() {
		if len(s.Name) < minShape || !strings.HasSuffix(s.Name, ":5") {
			continue
		}
		name, t, ok := shape(s.Name)
		if !ok {
			return &Error{"rows are aligned to 64 bytes, without other padding, and names have no colon",
				strconv.Quote(s.Name), ownHint}
		}
		if strings.Contains(name, cpuMark) && c.out.Inputs > 1 {
			return &Error{"a program with several inputs has none that is named as the result of another one " +
				"(" + cpuMark + ")", strconv.Quote(name), splitHint}
		}
		list = append(list, t)
	}
	in, out := int(c.out.Inputs), int(c.out.Outputs)
	if len(list) != in+out {
		return &Error{"every input and output is fp16 and has a name that leaves its shape a symbol of " +
			fmt.Sprint(minShape) + " characters", fmt.Sprintf("%d shapes for %d inputs and outputs", len(list), in+out),
			splitHint}
	}
	for range 2 {
		if c.fits(list) {
			break
		}
		list = slices.Concat(list[out:], list[:out])
	}
	copy(c.out.Tensors[RegFirst:], list[in:])
	copy(c.out.Tensors[RegFirst+out:], list[:in])
	return nil
}

// fits reports whether shapes, inputs first, have the sizes of the buffers.
func (c *converter) fits(list []Tensor) bool {
	in, out := int(c.out.Inputs), int(c.out.Outputs)
	for i, t := range list {
		reg := RegFirst + i - in
		if i < in {
			reg = RegFirst + out + i
		}
		if up(t.N*t.C*t.Plane, TileSize) != c.out.Bytes(reg) {
			return false
		}
	}
	return true
}

// shape parses a symbol of a shape, as in image:t11=ar1;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;1;15=s2w:5.
func shape(symbol string) (name string, t Tensor, ok bool) {
	parts := strings.Split(symbol, ":")
	if len(parts) != 6 {
		return "", t, false
	}
	var strides [4]uint64
	for i, p := range []*uint64{&t.N, &t.C, &t.H, &t.W} {
		x := strings.Split(parts[1+i], ";")
		if len(x) != 4 || !strings.HasSuffix(x[3], "nchw"[i:i+1]) {
			return "", t, false
		}
		n, err := strconv.ParseUint(x[2], 10, 32)
		_, stride, found := strings.Cut(x[3][:len(x[3])-1], "=s")
		s, err2 := strconv.ParseUint(stride, 10, 64)
		if err != nil || err2 != nil || !found {
			return "", t, false
		}
		*p, strides[i] = n, s
	}
	t.Row = up(2*t.W, 64)
	t.Plane = up(t.Row*t.H, 64)
	return parts[0], t, t.Plane == strides[1] && t.Row == strides[2]
}

// bound checks what the converter leaves to the container: that the tasks use the registers that the driver sets.
func (c *converter) bound() error {
	p := c.file.Procedures()[0]
	at := hwx.Base + up(c.out.Size, TileSize)
	want := map[int]uint64{RegTasks: hwx.Base, RegConstants: hwx.Base + c.out.constantsAt()}
	next := map[int]int{scratch: RegScratch, output: RegFirst, input: RegFirst + int(c.out.Outputs)}
	for range c.out.Inputs + c.out.Outputs + min(c.out.Tiles[RegScratch], 1) {
		kind := kinds[c.ident(c.find(uint32(at), 0))]
		reg := next[kind]
		next[kind]++
		want[reg] = at
		at += c.out.Bytes(reg)
	}
	for reg := range hwx.Bars {
		if a := p.Bars[reg]; a != 0 && a != want[reg] {
			return &Error{"the driver binds tasks, constants, scratch memory, and from register 4 on the outputs, " +
				"then the inputs, in the order of their addresses",
				fmt.Sprintf("register %d at %#x instead of %#x", reg, a, want[reg]),
				ownHint}
		}
	}
	return nil
}
