package mlmodelc

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Names of the files in the folder of a compiled model.
const (
	DataName      = "coremldata.bin"
	AnalyticsName = "analytics/coremldata.bin"
)

// programType is the number of ML programs in the specification's Model.Type.
const programType = 502

// headZeros and tailZeros are the lengths of runs of zeros in coremldata.bin, whose meaning is unknown.
const (
	headZeros = 28
	tailZeros = 12
)

// archive is the version of the archive that coremldata.bin is, the same for every version of specifications.
var archive = [3]uint64{5, 0, 0}

// kind is the kind of model in coremldata.bin, the same in all that are known.
const kind = "generic"

// Data is what coremldata.bin contains.
type Data struct {
	SpecificationVersion int32
	Description          []byte // the specification's message of that name
}

// An Error is a fault of coremldata.bin.
type Error struct {
	File   string
	Offset int    // in bytes from the start of the file
	Msg    string // the rule and the offending value
}

// Error returns the place and the fault.
func (e *Error) Error() string { return fmt.Sprintf("%s: byte %#x: %s", e.File, e.Offset, e.Msg) }

// metadataField is the field metadata of a description, empty: compiled models have one, also where the specification
// has none.
const (
	metadataNumber = 100
	metadataField  = "\xa2\x06\x00"
)

// hasMetadata reports whether a description has the field.
func hasMetadata(description []byte) bool {
	for b := description; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || num == metadataNumber {
			return n >= 0
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return false
		}
		b = b[n+m:]
	}
	return false
}

// Bytes returns the file of a model with a number of functions.
func (d *Data) Bytes(functions int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, programType)
	for _, v := range archive {
		b = le.AppendUint64(b, v)
	}
	b = appendString(b, kind)
	b = le.AppendUint32(b, uint32(d.SpecificationVersion))
	b = append(b, make([]byte, headZeros)...)
	b = appendString(b, d.described())
	for range functions {
		b = le.AppendUint32(b, programType)
		b = append(b, make([]byte, tailZeros)...)
	}
	return b
}

// pipelineType is the number of pipelines in the specification's Model.Type, and pipelineArchive the version of the
// archive that is coremldata.bin of one.
const pipelineType = 202

var pipelineArchive = [3]uint64{1, 0, 1}

// NamesName is the file of a compiled pipeline with the names of its models.
const NamesName = "modelNames/coremldata.bin"

// Pipeline returns coremldata.bin of a pipeline of models with these versions of specifications.
func (d *Data) Pipeline(versions []int64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, pipelineType)
	for _, v := range pipelineArchive {
		b = le.AppendUint64(b, v)
	}
	kinds := ""
	for i, v := range versions {
		kinds += fmt.Sprintf("%s.model%dv%d.0.0", kind, i, v)
	}
	b = appendString(b, kinds+kind)
	b = le.AppendUint32(b, uint32(d.SpecificationVersion))
	b = append(b, make([]byte, headZeros)...)
	b = appendString(b, d.described())
	b = le.AppendUint64(b, uint64(len(versions)))
	return le.AppendUint64(b, pipelineType)
}

// Names returns the file with the names of a pipeline's n models. A pipeline may lack them.
func Names(names []string, n int) []byte {
	for i := len(names); i < n; i++ {
		names = append(slices.Clip(names), fmt.Sprintf("model%d", i))
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(names)))
	for _, s := range names {
		b = appendString(b, s)
	}
	return b
}

// described is the description with the field metadata, which compiled models always have.
func (d *Data) described() string {
	if !hasMetadata(d.Description) {
		return string(d.Description) + metadataField
	}
	return string(d.Description)
}

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// ParseData reads coremldata.bin. name is its name in errors.
func ParseData(name string, b []byte) (*Data, error) {
	r := &reader{name: name, b: b}
	typ := r.uint32()
	at := r.at
	var version [3]uint64
	for i := range version {
		version[i] = r.uint64()
	}
	word := r.text()
	d := &Data{SpecificationVersion: int32(r.uint32())}
	r.skip(headZeros)
	d.Description = []byte(r.text())
	switch {
	case r.err != nil:
		return nil, r.err
	case typ != programType:
		return nil, &Error{name, 0, fmt.Sprintf("the model is of type %d; only ML programs, type %d, are read", typ,
			programType)}
	case version != archive:
		return nil, &Error{name, at, fmt.Sprintf("the version of the file is %d, want %d", version, archive)}
	case word != kind:
		return nil, &Error{name, at + 8*len(version), fmt.Sprintf("the model is of kind %.40q, want %q", word, kind)}
	}
	return d, nil
}

// reader reads numbers and strings until one is missing, which is then in err.
type reader struct {
	name string
	b    []byte
	at   int
	err  error
}

func (r *reader) skip(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if rest := uint64(len(r.b) - r.at); n > rest {
		r.err = &Error{r.name, r.at, fmt.Sprintf("%d bytes are missing: the file is truncated or damaged", n-rest)}
		return nil
	}
	r.at += int(n)
	return r.b[r.at-int(n) : r.at]
}

func (r *reader) uint32() uint32 {
	if b := r.skip(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.skip(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) text() string { return string(r.skip(r.uint64())) }

// Analytics returns analytics/coremldata.bin of a model whose specification is a file with that SHA-256, named
// model.mlmodel.
func Analytics(sum [sha256.Size]byte) []byte {
	return analytics(details{"NeuralNetworkModelDetails", [][2]string{{"containsCustomLayer", "0"}, {"modelDimension",
		"0"}}},
		details{"SpecificationDetails", [][2]string{
			{"modelHash", base64.StdEncoding.EncodeToString(sum[:])}, {"modelName", "model"},
		}})
}

// PipelineAnalytics returns the file of a pipeline of n models.
func PipelineAnalytics(n int) []byte {
	return analytics(details{"PipelineModelDetails", [][2]string{{"modelDimension", strconv.Itoa(n)}}})
}

// details is a section of the file.
type details struct {
	name    string
	entries [][2]string
}

func analytics(sections ...details) []byte {
	var b []byte
	for _, s := range sections {
		b = appendString(b, s.name)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s.entries)))
		for _, e := range s.entries {
			b = appendString(appendString(b, e[0]), e[1])
		}
	}
	return b
}
