package netplist

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"howett.net/plist"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

// sample is a network of every unit type: conv and bias, activation, view,
// concatenation, broadcast, elementwise, reshape.
const sample = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Networks</key><array><string>net</string></array>
<key>Version</key><string>1.0.9</string>
<key>net</key><dict>
	<key>Inputs</key><array><string>x</string></array>
	<key>Outputs</key><array><string>y@output</string></array>
	<key>Units</key><array><string>c</string><string>g</string><string>n</string><string>v</string><string>` +
	`j</string><string>b</string><string>e</string><string>s</string><string>r</string></array>
	<key>Weights</key><array><string>/elsewhere/w.weights</string></array>
	<key>x</key><dict><key>InputChannels</key><integer>3</integer><key>InputHeight</key><integer>2</integer><key>` +
	`InputWidth</key><integer>5</integer><key>InputRowStride</key><integer>64</integer><key>InputType</key>` +
	`<string>Float16</string></dict>
	<key>c</key><dict><key>Bottom</key><string>x</string><key>Name</key><string>c</string><key>Type</key><string>` +
	`Conv</string><key>OutputChannels</key><integer>4</integer>
		<key>Params</key><dict><key>Type</key><string>Conv</string><key>KernelHeight</key><integer>1</integer>` +
	`<key>KernelWidth</key><integer>1</integer><key>KernelType</key><string>Float32</string><key>` +
	`KernelOffset</key><integer>8</integer><key>Step</key><array><integer>1</integer><integer>1</integer></array>` +
	`</dict></dict>
	<key>g</key><dict><key>Bottom</key><string>c</string><key>Type</key><string>GOC</string><key>Params</key>` +
	`<dict><key>BiasScaleGroupData</key><dict><key>BiasCount</key><integer>4</integer><key>BiasOffset</key>` +
	`<integer>0</integer><key>BiasType</key><string>Float16</string></dict></dict></dict>
	<key>n</key><dict><key>Bottom</key><string>g</string><key>Type</key><string>Neuron</string><key>Params</key>` +
	`<dict><key>Type</key><string>Sigmoid</string></dict></dict>
	<key>v</key><dict><key>Bottom</key><string>n</string><key>Type</key><string>InputView</string><key>` +
	`Params</key><dict><key>Dimension</key><string>Channel</string><key>Offset</key><integer>1</integer><key>` +
	`Size</key><integer>1</integer></dict></dict>
	<key>j</key><dict><key>Bottom</key><array><string>n</string><string>v</string></array><key>Type</key><string>` +
	`Concat</string></dict>
	<key>b</key><dict><key>Bottom</key><string>v</string><key>Type</key><string>Broadcast</string><key>` +
	`Params</key><dict><key>BroadcastInfo</key><array><dict><key>Dimension</key><string>Channel</string><key>` +
	`Size</key><integer>5</integer></dict></array></dict></dict>
	<key>e</key><dict><key>Bottom</key><array><string>j</string><string>b</string></array><key>Type</key><string>` +
	`ScaledElementWise</string><key>Params</key><dict><key>Type</key><string>Min</string><key>Scale</key><integer>` +
	`15360</integer></dict></dict>
	<key>s</key><dict><key>Bottom</key><string>e</string><key>Type</key><string>GOC</string><key>Params</key>` +
	`<dict><key>ScaleScalar</key><integer>16384</integer><key>BiasScalar</key><integer>15360</integer></dict></dict>
	<key>r</key><dict><key>Bottom</key><string>s</string><key>Type</key><string>Reshape</string><key>Params</key>` +
	`<dict><key>ReshapedBatch</key><integer>1</integer><key>ReshapedChannel</key><integer>50</integer><key>` +
	`ReshapedDepth</key><integer>1</integer><key>ReshapedHeight</key><integer>1</integer><key>ReshapedWidth</key>` +
	`<integer>1</integer></dict></dict>
	<key>y@output</key><dict><key>Bottom</key><string>r</string><key>OutputRowStride</key><integer>64</integer></dict>
</dict></dict></plist>
`

// folder opens a folder with a weight file of 1, 2, 3 ... as fp32 numbers.
func folder(t testing.TB) *os.Root {
	t.Helper()
	dir := t.TempDir()
	var b []byte
	for i := range 32 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i+1)))
	}
	if err := os.WriteFile(filepath.Join(dir, "w.weights"), b, 0o666); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func text(t testing.TB, p *ir.Program) string {
	t.Helper()
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := ir.Print(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// toBinary returns an XML list as a binary one.
func toBinary(t testing.TB, src string) []byte {
	t.Helper()
	var v any
	if _, err := plist.Unmarshal([]byte(src), &v); err != nil {
		t.Fatal(err)
	}
	b, err := plist.Marshal(v, plist.BinaryFormat)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDescriptionsOfBothFormsAreRead reads one network in both forms and versions.
func TestDescriptionsOfBothFormsAreRead(t *testing.T) {
	root := folder(t)
	p, err := Read("net.plist", []byte(sample), root)
	if err != nil {
		t.Fatal(err)
	}
	want := text(t, p)
	for _, op := range []string{"conv<", "sigmoid(", "slice_by_size", "concat(", "tile(", "minimum(", "mul(", "add(",
		"reshape", "bias = ", "@8"} {
		if !strings.Contains(want, op) {
			t.Errorf("no %s in\n%s", op, want)
		}
	}
	conv := p.Funcs[0].Body.Ops[0]
	if w := conv.Arg("weight").Const.Floats(); w[0] != 3 || w[11] != 14 {
		t.Errorf("the coefficients are %v", w)
	}
	if b := conv.Arg("bias"); b == nil || b.Const.Blob != "w.weights@0" {
		t.Errorf("the convolution's bias is %v", b)
	}
	if y := p.Funcs[0].Body.Outputs[0]; y.Name != "y" || !y.Type.Equal(ir.TensorOf(ir.FP16, 1, 50, 1, 1)) {
		t.Errorf("the output is %s of %s", y.Name, y.Type)
	}
	for name, src := range map[string][]byte{
		"binary":  toBinary(t, sample),
		"version": []byte(strings.Replace(sample, "1.0.9", "1.0.10", 1)),
		"order": []byte(strings.Replace(sample, "<string>c</string><string>g</string>",
			"<string>g</string><string>c</string>", 1)),
	} {
		p, err := Read("net.plist", src, root)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := text(t, p); got != want {
			t.Errorf("%s: %s\nwant\n%s", name, got, want)
		}
	}
}

// TestWrongDescriptionsAreRefused changes one thing of the sample at a time.
func TestWrongDescriptionsAreRefused(t *testing.T) {
	root := folder(t)
	for _, c := range []struct{ name, old, new, want string }{
		{name: "version", old: "1.0.9", new: "2.0", want: `Version: must be 1.0.9 or 1.0.10; got "2.0"`},
		{name: "no networks", old: "<array><string>net</string></array>", new: "<array/>",
			want: "Networks: must name a network"},
		{name: "unknown key", old: "<key>Networks</key>", new: "<key>More</key><true/><key>Networks</key>",
			want: "More: is not a known key here"},
		{name: "key twice", old: "<key>Version</key>",
			new: "<key>Version</key><string>1.0.9</string><key>Version</key>", want: `duplicate key "Version"`},
		{name: "no list", old: "<plist", new: "<list", want: "the root element must be plist"},
		{name: "input type", old: "<key>InputType</key><string>Float16", new: "<key>InputType</key><string>UInt8",
			want: `network "net": unit "x": InputType: must be Float16; got "UInt8"`},
		{name: "extent", old: "<key>InputWidth</key><integer>5", new: "<key>InputWidth</key><integer>0",
			want: "InputWidth: must be from 1 to"},
		{name: "not an integer", old: "<key>InputWidth</key><integer>5</integer>",
			new: "<key>InputWidth</key><string>5</string>", want: "InputWidth: must be an integer"},
		{name: "stride", old: "<key>InputRowStride</key><integer>64", new: "<key>InputRowStride</key><integer>128",
			want: "InputRowStride: a tensor of shape [1, 3, 2, 5] has rows at multiples of 64 bytes"},
		{name: "no unit", old: "<string>c</string><string>g</string>", new: "<string>c</string><string>z</string>",
			want: "z: is missing; Units names it"},
		{name: "unit twice", old: "<string>c</string><string>g</string>", new: "<string>c</string><string>c</string>",
			want: "one of Units already"},
		{name: "ring", old: "<key>c</key><dict><key>Bottom</key><string>x</string>",
			new: "<key>c</key><dict><key>Bottom</key><string>n</string>", want: "must not depend on itself"},
		{name: "bottom", old: "<key>n</key><dict><key>Bottom</key><string>g</string>",
			new:  "<key>n</key><dict><key>Bottom</key><string>q</string>",
			want: `Bottom: must name an input or a unit; got "q"`},
		{name: "bottoms", old: "<array><string>j</string><string>b</string></array>",
			new: "<array><string>j</string></array>", want: "Bottom: must name 2 inputs or units; got 1"},
		{name: "unit type", old: "<string>Neuron</string>", new: "<string>Softmax</string>",
			want: `Type: zinc reads units Broadcast, Concat, Conv,`},
		{name: "kind", old: "<string>Sigmoid</string>", new: "<string>Swish</string>",
			want: "Params.Type: must be Sigmoid or Sign or"},
		{name: "scale", old: "<key>Scale</key><integer>15360", new: "<key>Scale</key><integer>16384",
			want: "Params.Scale: must be 15360; got 16384"},
		{name: "shapes", old: "<array><string>j</string><string>b</string></array>",
			new:  "<array><string>j</string><string>v</string></array>",
			want: "the tensors that it reads must have one shape"},
		{name: "view", old: "<key>Offset</key><integer>1", new: "<key>Offset</key><integer>4",
			want: "Params.Offset: must be from 0 to 3"},
		{name: "view size", old: "<key>Size</key><integer>1<", new: "<key>Size</key><integer>4<",
			want: "Params.Size: must be from 1 to 3"},
		{name: "depth", old: "<key>Dimension</key><string>Channel</string><key>Offset</key>",
			new:  "<key>Dimension</key><string>Depth</string><key>Offset</key>",
			want: "no tensor of the network is deeper than 1"},
		{name: "reshape", old: "<key>ReshapedChannel</key><integer>50", new: "<key>ReshapedChannel</key><integer>49",
			want: "50 elements, and must return as many"},
		{name: "reshaped depth", old: "<key>ReshapedDepth</key><integer>1", new: "<key>ReshapedDepth</key><integer>2",
			want: "depth must be 1 before and after"},
		{name: "channels", old: "<key>Name</key><string>c</string>", new: "<key>Name</key><string>d</string>",
			want: "Name: must be the key"},
		{name: "steps", old: "<array><integer>1</integer><integer>1</integer></array>",
			new: "<array><integer>1</integer><integer>2</integer></array>", want: "both steps must be equal"},
		{name: "kernel type", old: "<string>Float32</string>", new: "<string>UInt8</string>",
			want: "Params.KernelType: must be Float16 or Float32"},
		{name: "kernel mode", old: "<key>KernelHeight</key>",
			new:  "<key>KernelMode</key><string>Palette</string><key>KernelHeight</key>",
			want: "Params.KernelMode: must be Dense"},
		{name: "group reuse", old: "<key>KernelHeight</key>",
			new:  "<key>KernelGroupReuse</key><true/><key>KernelHeight</key>",
			want: "Params.KernelGroupReuse: must be false"},
		{name: "parameter", old: "<key>KernelHeight</key>",
			new:  "<key>Dilation</key><integer>2</integer><key>KernelHeight</key>",
			want: "Params.Dilation: is not a known key here"},
		{name: "index", old: "<key>KernelOffset</key>",
			new:  "<key>KernelIndex</key><integer>1</integer><key>KernelOffset</key>",
			want: "Params.KernelIndex: the network's Weights lists 1 files; got 1"},
		{name: "offset", old: "<key>KernelOffset</key><integer>8", new: "<key>KernelOffset</key><integer>84",
			want: "Params.KernelOffset: [4, 3, 1, 1] as Float32 takes 48 bytes, and w.weights has 128; got 84"},
		{name: "far offset", old: "<key>KernelOffset</key><integer>8",
			new: "<key>KernelOffset</key><integer>9223372036854775807", want: "Params.KernelOffset"},
		{name: "no file", old: "/elsewhere/w.weights", new: "other.weights", want: "cannot be read"},
		{name: "outside", old: "/elsewhere/w.weights", new: "../..", want: "cannot be read"},
		{name: "count", old: "<key>BiasCount</key><integer>4", new: "<key>BiasCount</key><integer>3",
			want: "Params.BiasScaleGroupData.BiasCount: the unit reads 4 channels"},
		{name: "bits", old: "<key>BiasScalar</key><integer>15360", new: "<key>BiasScalar</key><integer>65536",
			want: "Params.BiasScalar: must be from 0 to 65535"},
		{name: "output", old: "<key>y@output</key><dict><key>Bottom</key><string>r",
			new: "<key>y@output</key><dict><key>Bottom</key><string>y@output", want: "must name an input or a unit"},
		{name: "huge", old: "<key>Size</key><integer>5", new: "<key>Size</key><integer>1048577",
			want: "Size: must be from 1 to 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := strings.Replace(sample, c.old, c.new, 1)
			if src == sample {
				t.Fatalf("%q is not in the sample", c.old)
			}
			_, err := Read("net.plist", []byte(src), root)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "net.plist: ") {
				t.Errorf("the error is %v\nwant %s", err, c.want)
			}
		})
	}
}

// bplist returns a binary list of objects, the first of which is the root.
func bplist(objects ...string) []byte {
	b := []byte(binaryMagic)
	var table []byte
	for _, o := range objects {
		table = binary.BigEndian.AppendUint16(table, uint16(len(b)))
		b = append(b, o...)
	}
	at := len(b)
	b = append(b, table...)
	b = append(b, 0, 0, 0, 0, 0, 0, 2, 1)
	b = binary.BigEndian.AppendUint64(b, uint64(len(objects)))
	b = binary.BigEndian.AppendUint64(b, 0)
	return binary.BigEndian.AppendUint64(b, uint64(at))
}

// TestHostileListsAreRefused reads lists that are meant to exhaust stack, memory or time.
func TestHostileListsAreRefused(t *testing.T) {
	doubling := make([]string, 64) // each contains the next twice
	for i := range doubling {
		doubling[i] = "\xa2" + string([]byte{byte(i + 1), byte(i + 1)})
	}
	wide := []string{"\xaf\x10\xff" + strings.Repeat("\x01", 255), "\xaf\x10\xff" + strings.Repeat("\x02", 255),
		"\xaf\x10\xff" + strings.Repeat("\x03", 255), "\x09"}
	deep := make([]string, 40)
	for i := range deep {
		deep[i] = "\xa1" + string([]byte{byte(i + 1)})
	}
	for _, c := range []struct {
		name string
		src  []byte
		want string
	}{
		{"empty", nil, "plist"},
		{"nothing", []byte("<plist"), "byte"},
		{"text form", []byte("{ Networks = (net); }"), "missing plist element"},
		{"deep", []byte("<plist>" + strings.Repeat("<array>", 1<<20)), "nested deeper than 32"},
		{"many", []byte("<plist><array>" + strings.Repeat("<a/>", 1<<21)), "more than 1048576 elements"},
		{"short binary", []byte("bplist00"), "at least 40 bytes"},
		{"itself", bplist("\xa1\x00"), "contains itself"},
		{"doubling", bplist(append(doubling, "\x09")...), "nested deeper than 32"},
		{"wide", bplist(wide...), "more than 1048576 objects"},
		{"deep binary", bplist(append(deep, "\x09")...), "nested deeper than 32"},
		{"no object", bplist("\xa1\x07"), "object 7 of 1"},
		{"long", bplist("\xaf\x13\x7f\xff\xff\xff\xff\xff\xff\xff"), "runs past"},
		{"cut", bplist("\xd1\x00"), "runs past"},
		{"kind", bplist("\xf0"), "unknown kind"},
		{"no dictionary", bplist("\x09"), "must be a dictionary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read("net.plist", c.src, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Read("net.plist", make([]byte, MaxSize+1), nil); err == nil || !strings.Contains(err.Error(),
		"the limit is") {
		t.Errorf("a list of too many bytes: %v", err)
	}
}

func TestPropertyListsAreDetected(t *testing.T) {
	for _, c := range []struct {
		src  string
		want bool
	}{
		{sample, true}, {"bplist00", true}, {"\n<!-- x --><plist/>", true}, {"program(1.3)", false}, {"<html>", false},
		{"", false},
	} {
		if got := Is([]byte(c.src)); got != c.want {
			t.Errorf("%.20q: %v", c.src, got)
		}
	}
}

// FuzzRead reads any bytes: it must return a program that verifies, or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Add(toBinary(f, sample))
	f.Add(bplist("\xa2\x01\x01", "\xd1\x02\x02", "\x51a"))
	for _, src := range descriptions(f) {
		f.Add(src)
	}
	root := folder(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := Read("fuzz.plist", src, root)
		if err != nil {
			return
		}
		if err := ir.Verify(p); err != nil {
			t.Fatal(err)
		}
		for _, fn := range p.Funcs {
			d, err := Write(fn, "w.weights")
			if err != nil {
				continue // of five dimensions
			}
			if _, err := decode(d.List); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// descriptions returns the recorded descriptions, none if the shared folder is absent: unlike a test, a fuzz target is
// useful without them.
func descriptions(f *testing.F) (out [][]byte) {
	dirs := []string{os.Getenv(shareddir.Env)}
	for up := ".."; len(up) < 30; up = filepath.Join(up, "..") {
		dirs = append(dirs, filepath.Join(up, "shared"))
	}
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "golden", "netplists", "*.plist"))
		if err != nil {
			f.Fatal(err)
		}
		for _, n := range names {
			src, err := os.ReadFile(n)
			if err != nil {
				f.Fatal(err)
			}
			out = append(out, src)
		}
		if out != nil {
			return out
		}
	}
	return nil
}
