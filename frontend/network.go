package frontend

import (
	"fmt"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/frontend/neuralnetwork"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/ir"
)

// networkWeights is the weight file that the text of a neural network names. It is in memory, and its floats are part
// of the specification's file.
const networkWeights = "weights/weight.bin"

// A network is a neural network as a text.
type network struct {
	*neuralnetwork.Network
	text  *unbuild.Text
	blobs *blobfile.Set
}

// network reads the neural network of a specification, which has no weight files of its own.
func (s *source) network(spec *mlmodel.Model, opts *Options) (n *network, err error) {
	f := s.file
	s.file = nil // mapped from here on
	info, err := f.Stat()
	if err != nil {
		f.Close() // only read from
		return nil, err
	}
	data, unmap, err := blobfile.MapFile(s.name, f)
	if err != nil {
		return nil, err
	}
	n = &network{}
	err = mapfault.Guard(func() error { return n.read(data, spec, s.name) })
	if err == nil {
		n.blobs, err = s.blobs(opts)
	}
	if err != nil {
		unmap() // only read from
		return nil, err
	}
	file, err := blobfile.Assemble(s.name, n.text.WriteWeights, unmap)
	if err != nil {
		unmap()         // only read from
		n.blobs.Close() // not even that
		return nil, err
	}
	n.blobs.Add(networkWeights, file, info)
	return n, nil
}

func (n *network) read(data []byte, spec *mlmodel.Model, name string) (err error) {
	if spec.End > int64(len(data)) {
		return fmt.Errorf("%s: the file was shortened while it was read", name)
	}
	if n.Network, err = neuralnetwork.Read(data[spec.Start:spec.End], spec.Start, spec.Metadata); err != nil {
		return err
	}
	n.text, err = unbuild.Program(n.Program, networkWeights)
	return err
}

// warn adds the warnings about the network.
func (n *network) warn(name string, list *diag.List) {
	for _, w := range n.Warnings {
		list.Warningf(diag.Span{}, "network", "", "%s: %s", name, w)
	}
}

// openNetwork reads a neural network as Open does.
func (s *source) openNetwork(spec *mlmodel.Model, opts *Options) (*Model, error) {
	n, err := s.network(spec, opts)
	if err != nil {
		return nil, err
	}
	shown, src := opts.text(s.name+" as text", n.text.MIL)
	m, err := fromText(shown, src, opts, func() (*blobfile.Set, error) { return n.blobs, nil })
	if err != nil {
		n.blobs.Close() // only read from
		return nil, err
	}
	m.Path, m.Metadata = s.name, n.Metadata
	m.Program.BuildInfo = append(m.Program.BuildInfo, ir.KeyValue{Key: ir.SourceForm, Value: spec.Metadata.Form})
	n.warn(s.name, m.Warnings)
	return m, nil
}

// networkSource reads a neural network as OpenSource does: as the ML program that computes the same.
func (s *source) networkSource(spec *mlmodel.Model, opts *Options) (*Source, error) {
	n, err := s.network(spec, opts)
	if err != nil {
		return nil, err
	}
	tree, list := mil.Parse(s.name+" as text", n.text.MIL)
	if list.HasErrors() {
		n.blobs.Close() // only read from
		return nil, list.Err()
	}
	out := &Source{
		Spec:     &mlmodel.Model{Metadata: n.Metadata, Program: tree, Order: order(tree)},
		Warnings: list,
		blobs:    n.blobs,
	}
	out.Spec.Metadata.SpecificationVersion = mlmodel.SpecificationVersion(tree)
	n.warn(s.name, list)
	return out, out.matches(s.name)
}

// order returns the inputs of the functions of a text, in its order.
func order(tree *mil.Program) map[string][]string {
	out := map[string][]string{}
	for _, f := range tree.Funcs {
		for _, p := range f.Params {
			out[f.Name] = append(out[f.Name], p.Name)
		}
	}
	return out
}
