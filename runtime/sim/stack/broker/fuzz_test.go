package broker

import (
	"bytes"
	"context"
	"encoding/gob"
	"net"
	"net/rpc"
	"testing"
)

// session writes calls as a client does.
func stream(f *testing.F, calls ...any) []byte {
	var b bytes.Buffer
	enc := gob.NewEncoder(&b)
	for i := 0; i+1 < len(calls); i += 2 {
		if err := enc.Encode(&rpc.Request{
			ServiceMethod: serviceName + "." + calls[i].(string),
			Seq:           uint64(i / 2),
		}); err != nil {
			f.Fatal(err)
		}
		if err := enc.Encode(calls[i+1]); err != nil {
			f.Fatal(err)
		}
	}
	return b.Bytes()
}

// FuzzSocket sends bytes to a broker's connection and checks that nothing panics, that the connection ends with the
// bytes, and that everything that it created is released.
func FuzzSocket(f *testing.F) {
	c := container(f, 8, 1)
	files := section(f, container(f, 8, 2))
	id := caller(1, "A", KeyAdapterWeight, KeyModelShare, KeyAggressiveSaving, KeyPurgeAll, KeyDirectPath)
	with := func(calls ...any) []byte { return append([]byte{1}, stream(f, calls...)...) } // of a peer that is known
	f.Add([]byte{})
	f.Add([]byte("\x00\xf8\x7f\xff\xff\xff\xff\xff\xff\xff"))
	f.Add(append([]byte{0}, stream(f, "Hello", &id, "Load", &Call[LoadRequest]{Value: LoadRequest{Container: c}})...))
	f.Add(with("Load", &Call[LoadRequest]{1, 0, LoadRequest{Container: c, Identifier: "b", Share: true}},
		"CreateInstance", &Call[InstanceRequest]{2, 0, InstanceRequest{Model: 3, QueueDepth: 2}},
		"Evaluate", &Call[Evaluation]{3, 0, Evaluation{EvaluateRequest: EvaluateRequest{
			Instance: 4,
			Surfaces: map[string][]byte{"x1": make([]byte, 3072)},
		}}},
		"OpenDirectPath", &Call[DirectPathRequest]{4, 0, DirectPathRequest{Instance: 4}},
		"ReleaseInstance", &Call[ReleaseRequest]{5, 0, ReleaseRequest{4}},
		"Unload", &Call[UnloadRequest]{6, 0, UnloadRequest{Model: 3}}))
	f.Add(with("Load", &Call[LoadRequest]{1, 0, LoadRequest{Container: c, Identifier: "b"}},
		"CreateInstanceWithWeights", &Call[WeightsRequest]{2, 0, WeightsRequest{
			Base:            "b",
			WeightFileCount: 1,
			WeightFiles:     files,
		}}))
	f.Add(with("Compile", &Call[CompileRequest]{1, 0, CompileRequest{Files: Files{{Name: "m", Data: []byte("x")}}}},
		"Purge", &Call[PurgeRequest]{2, 0, PurgeRequest{AllPartitions: true}}, "Cancel", uint64(7),
		"Attach", &Call[AttachRequest]{3, 0, AttachRequest{Resident: 1}}))
	f.Add(with("Evaluate", &Call[Evaluation]{3, 0, Evaluation{EvaluateRequest: EvaluateRequest{
		Instance: 1 << 63,
		Surfaces: map[string][]byte{"x1": {1}, "x2": nil},
		Then:     []Segment{{Procedure: "main", Passed: map[string]string{"y": "x"}}},
	}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, k := room(t, func(c *Config) {
			c.Limits.MessageBytes = 1 << 20
			c.Compile = func(context.Context, CompileRequest) ([]byte, []byte, error) { return []byte("c"), nil, nil }
		})
		near, far := net.Pipe()
		ended := make(chan struct{})
		p := b.newPeer(far)
		if len(data) > 0 {
			if data[0]&1 == 1 {
				if _, err := p.hello(id); err != nil {
					t.Fatal(err)
				}
			}
			data = data[1:]
		}
		go func() { p.serve(); close(ended) }()
		go func() { // replies
			buf := make([]byte, 1<<16)
			for {
				if _, err := near.Read(buf); err != nil {
					return
				}
			}
		}()
		near.Write(data)
		near.Close()
		<-ended
		if r := b.Report(); r.Connections != 0 || r.Instances != 0 || r.Residents != 0 {
			t.Errorf("left: %+v", r)
		}
		k.clean(t)
	})
}

// FuzzAdapt checks that for hostile containers and weight files coefficientSizes and Adapt return errors, or a
// container of the same length whose tasks are the base's.
func FuzzAdapt(f *testing.F) {
	c := container(f, 8, 1)
	whole := section(f, container(f, 8, 2))[0]
	f.Add(c, whole.Name, whole.Data)
	f.Add(c[:len(c)-1], whole.Name, whole.Data)
	f.Add(c, "", []byte{})
	f.Fuzz(func(t *testing.T, base []byte, name string, data []byte) {
		sizes, err := coefficientSizes(base)
		out, fail := Adapt(base, Files{{Name: name, Data: data}})
		if err != nil && fail == nil {
			t.Error("an adapter of a container that cannot be read")
		}
		if fail == nil && (sizes[name] != int64(len(data)) || len(out) != len(base)) {
			t.Errorf("%d bytes replaced by %d, container of %d bytes by one of %d", sizes[name], len(data), len(base),
				len(out))
		}
		for n, size := range sizes {
			if size < 0 || size > int64(len(base))*int64(len(base)) {
				t.Errorf("%q has %d bytes", n, size)
			}
		}
	})
}
