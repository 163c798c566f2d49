package digits

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/internal/npy"
)

// Files of a bundle, relative to its folder, in slash form.
const (
	ProgramFile  = "model.mil"
	WeightsFile  = "weights/weight.bin"
	MetadataFile = "metadata.json"
)

// Layout of the weight file: a header, then for each tensor a record and its
// data, each starting at a multiple of blobAlign.
const (
	blobAlign    = 64
	blobVersion  = 2
	blobSentinel = 0xDEADBEEF
	blobFloat16  = 1 // element type of fp16
)

// rounded returns the network with every number rounded to fp16.
func (n Network) rounded() Network {
	out := newNetwork()
	to := out.tensors()
	for t, from := range n.tensors() {
		for i, v := range from {
			to[t][i] = float16.Fromfloat32(v).Float32()
		}
	}
	return out
}

// blobOffsets returns where each tensor's record is in the weight file,
// and the file's size.
func blobOffsets() (records []int, size int) {
	at := blobAlign
	for _, t := range newNetwork().tensors() {
		records = append(records, at)
		at += blobAlign + aligned(2*len(t))
	}
	return records, at
}

func aligned(n int) int { return (n + blobAlign - 1) / blobAlign * blobAlign }

// Weights returns the weight file of a network, rounding it to fp16.
func Weights(n Network) []byte {
	records, size := blobOffsets()
	out := make([]byte, size)
	le := binary.LittleEndian
	le.PutUint32(out, uint32(len(records)))
	le.PutUint32(out[4:], blobVersion)
	for t, values := range n.tensors() {
		record := out[records[t]:]
		le.PutUint32(record, blobSentinel)
		le.PutUint32(record[4:], blobFloat16)
		le.PutUint64(record[8:], uint64(2*len(values)))
		le.PutUint64(record[16:], uint64(records[t]+blobAlign))
		for i, v := range values {
			le.PutUint16(record[blobAlign+2*i:], float16.Fromfloat32(v).Bits())
		}
	}
	return out
}

// Program returns the text of model.mil.
func Program() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "        "+format+"\n", args...) }
	ints := func(name string, values string, n int) {
		line("tensor<int32, [%d]> %[2]s = const()[name = string(%[2]q), val = tensor<int32, [%[1]d]>([%[3]s])];", n,
			name, values)
	}
	records, _ := blobOffsets()

	b.WriteString("program(1.3)\n[buildInfo = dict<string, string>({{\"zinc-example\", \"digits\"}})]\n{\n")
	fmt.Fprintf(&b, "    func main<ios18>(tensor<fp16, [1, 1, %d, %d]> image) {\n", Side, Side)
	ints("ones", "1, 1", 2)
	line(`int32 groups = const()[name = string("groups"), val = int32(1)];`)
	line(`string custom = const()[name = string("custom"), val = string("custom")];`)
	line(`string valid = const()[name = string("valid"), val = string("valid")];`)
	line(`bool ceil_mode = const()[name = string("ceil_mode"), val = bool(false)];`)
	ints("pool_size", "2, 2", 2)
	ints("no_pad", "0, 0, 0, 0", 4)

	x := "image"
	for i, l := range Layers {
		side := l.outSide()
		tensor := func(suffix, shape string, blob int) {
			line("tensor<fp16, %s> %[2]s = const()[name = string(%[2]q), val = tensor<fp16, %[1]s>(BLOBFILE(path = "+
				"string(\"@model_path/%[3]s\"), offset = uint64(%[4]d)))];",
				shape, l.Name+"_"+suffix, WeightsFile, records[blob])
		}
		tensor("weight", fmt.Sprintf("[%d, %d, %d, %d]", l.Out, l.In, l.Kernel, l.Kernel), 2*i)
		tensor("bias", fmt.Sprintf("[%d]", l.Out), 2*i+1)
		padType, pad := "valid", "no_pad"
		if l.Pad > 0 {
			padType, pad = "custom", l.Name+"_pad"
			ints(pad, fmt.Sprintf("%[1]d, %[1]d, %[1]d, %[1]d", l.Pad), 4)
		}
		result := func(side int, name, call string) {
			line("tensor<fp16, [1, %d, %[2]d, %[2]d]> %[3]s = %[4]s[name = string(%[3]q)];", l.Out, side, name, call)
			x = name
		}
		result(side, l.Name, fmt.Sprintf(
			"conv(bias = %[1]s_bias, dilations = ones, groups = groups, pad = %[2]s, pad_type = %[3]s, strides = "+
				"ones, weight = %[1]s_weight, x = %[4]s)", l.Name, pad, padType, x))
		if l.Relu {
			result(side, l.Name+"_relu", "relu(x = "+x+")")
		}
		if l.Pool > 1 {
			result(side/l.Pool, l.Name+"_pool", "max_pool(ceil_mode = ceil_mode, kernel_sizes = pool_size, pad = "+
				"no_pad, pad_type = valid, strides = pool_size, x = "+x+")")
		}
	}
	line(`int32 channels = const()[name = string("channels"), val = int32(1)];`)
	line(`tensor<fp16, [1, %d, 1, 1]> probs = softmax(axis = channels, x = %s)[name = string("probs")];`, Classes, x)
	b.WriteString("    } -> (probs);\n}\n")
	return b.String()
}

// feature is one input or output in metadata.json.
type feature struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	DataType  string `json:"dataType"`
	Shape     string `json:"shape"`
	Formatted string `json:"formattedType"`
	Short     string `json:"shortDescription"`
}

func newFeature(name, shape, short string) feature {
	dims := strings.ReplaceAll(strings.Trim(shape, "[]"), ", ", " × ")
	return feature{
		Name:      name,
		Type:      "MultiArray",
		DataType:  "Float16",
		Shape:     shape,
		Formatted: "MultiArray (Float16 " + dims + ")",
		Short:     short,
	}
}

// metadata is the part of a compiled model's metadata.json that has a meaning
// here.
type metadata struct {
	Version     string            `json:"metadataOutputVersion"`
	Short       string            `json:"shortDescription"`
	Storage     string            `json:"storagePrecision"`
	Compute     string            `json:"computePrecision"`
	Input       []feature         `json:"inputSchema"`
	Output      []feature         `json:"outputSchema"`
	UserDefined map[string]string `json:"userDefinedMetadata"`
}

// Measured is the number of digits that each accuracy of a [Report] counts.
const Measured = 5000

// Report is what training says about a network: the seed of the drawings it
// was fitted on, and the share it names rightly of the first Measured of
// those, and of as many from [HeldOutSeed].
type Report struct {
	Seed           uint64
	Train, HeldOut float64
}

// NewReport measures a network trained from the seed.
func NewReport(n Network, seed uint64) Report {
	return Report{seed, Accuracy(n, seed, Measured), Accuracy(n, HeldOutSeed, Measured)}
}

// Metadata returns the text of metadata.json.
func Metadata(r Report) ([]byte, error) {
	m := metadata{
		Version: "3.0",
		Short:   "Tells which digit a 28 by 28 grey drawing shows.",
		Storage: "Float16", Compute: "Float16",
		Input:  []feature{newFeature("image", fmt.Sprintf("[1, 1, %d, %d]", Side, Side), "0 is paper, 1 is full ink")},
		Output: []feature{newFeature("probs", fmt.Sprintf("[1, %d, 1, 1]", Classes), "Probability of each digit")},
		UserDefined: map[string]string{
			"seed":              fmt.Sprint(r.Seed),
			"digits measured":   fmt.Sprint(Measured),
			"train accuracy":    fmt.Sprintf("%.4f", r.Train),
			"held-out accuracy": fmt.Sprintf("%.4f", r.HeldOut),
		},
	}
	text, err := json.MarshalIndent([]metadata{m}, "", "  ")
	return append(text, '\n'), err
}

// BundleFiles returns the files of the bundle by their names.
func BundleFiles(n Network, r Report) (map[string][]byte, error) {
	meta, err := Metadata(r)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		ProgramFile:  []byte(Program()),
		WeightsFile:  Weights(n),
		MetadataFile: meta,
	}, nil
}

// ImageFiles returns the ten test images by their names.
func ImageFiles() (map[string][]byte, error) {
	out := make(map[string][]byte, Classes)
	for i, s := range TestImages() {
		a, err := npy.FromFloats("f2", []int64{1, 1, Side, Side}, s.Image[:])
		if err != nil {
			return nil, err
		}
		if out[fmt.Sprintf("%d.npy", i)], err = npy.Encode(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// WriteFiles writes files below dir, making the folders they need.
func WriteFiles(dir string, files map[string][]byte) error {
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
