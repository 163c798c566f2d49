package mlpackage

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
)

// Ext is the extension of a package's folder.
const Ext = ".mlpackage"

// SpecFolder and SpecName are the places of a specification in the packages that converters write. Paths of weight
// files are relative to the folder, and those below WeightsFolder are an item of the manifest.
const (
	SpecFolder    = dataDir + "/" + owner
	SpecName      = "model.mlmodel"
	WeightsFolder = "weights"
)

// owner is the name of the folder and the author of the items that converters write.
const owner = "com.apple.CoreML"

// Manifest returns the manifest of a package with a specification, and the weights folder if the model has weights. The
// identifiers of the items are random in the packages of converters; here they follow from the specification.
func Manifest(spec []byte, weights bool) []byte {
	sum := sha256.Sum256(spec)
	m := manifest{Version: "1.0.0", Root: identifier(sum[:16]), Items: map[string]*item{}}
	add := func(id, name, description string) {
		m.Items[id] = &item{Author: owner, Description: description, Name: name, Path: path.Join(owner, name)}
	}
	add(m.Root, SpecName, "CoreML Model Specification")
	if weights {
		add(identifier(sum[16:]), WeightsFolder, "CoreML Model Weights")
	}
	out, err := json.MarshalIndent(m, "", "    ")
	if err != nil {
		panic(err) // a manifest has only strings
	}
	return append(out, '\n')
}

// identifier formats 16 bytes as a UUID whose contents its writer defines (version 8).
func identifier(b []byte) string {
	return fmt.Sprintf("%X-%X-8%03X-%X-%X", b[:4], b[4:6], (uint16(b[6])<<8|uint16(b[7]))&0xfff,
		[]byte{b[8]&0x3f | 0x80, b[9]}, b[10:16])
}
