package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/compile/pair"
)

// What a server keeps under a key is an ActionResult of the Remote Execution API, version 2, which servers may check:
// two output_files (field 2), each with a path (1) and a digest (2) of hash (1) and size_bytes (2), in stdout_raw
// (field 5) the SHA-256 that ties both and the summary to the key, and in stderr_raw (field 7) the summary. Other
// fields are ignored.
const (
	containerName  = "model.hwx"
	descriptorName = "model.e5"
	sealDomain     = "zinc remote pair 2"
)

// action is an ActionResult.
type action struct {
	container, descriptor blob
	seal                  [sha256.Size]byte
	summary               string
}

// blob is the digest of a blob.
type blob struct {
	sum  [sha256.Size]byte
	size int64
}

func blobOf(b []byte) blob { return blob{sha256.Sum256(b), int64(len(b))} }

// sealOf is the SHA-256 of a key, of the SHA-256 of container and descriptor, and of the summary.
func (a *action) sealOf(k pair.Key) [sha256.Size]byte {
	h := sha256.New()
	for _, b := range [][]byte{[]byte(sealDomain), k[:], a.container.sum[:], a.descriptor.sum[:], []byte(a.summary)} {
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// bytes encodes the ActionResult.
func (a *action) bytes() []byte {
	message := func(b []byte, n protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), m)
	}
	var out []byte
	for _, f := range []struct {
		name string
		blob
	}{{containerName, a.container}, {descriptorName, a.descriptor}} {
		digest := message(nil, 1, []byte(hex.EncodeToString(f.sum[:])))
		digest = protowire.AppendVarint(protowire.AppendTag(digest, 2, protowire.VarintType), uint64(f.size))
		out = message(out, 2, message(message(nil, 1, []byte(f.name)), 2, digest))
	}
	return message(message(out, 5, a.seal[:]), 7, []byte(a.summary))
}

// parseAction decodes an ActionResult.
func parseAction(b []byte) (*action, error) {
	a := &action{}
	found := map[string]bool{}
	err := fields(b, func(n protowire.Number, v []byte, _ uint64) error {
		switch n {
		case 2:
			name, d, err := outputFile(v)
			if err != nil {
				return err
			}
			found[name] = true
			switch name {
			case containerName:
				a.container = d
			case descriptorName:
				a.descriptor = d
			}
		case 5:
			if len(v) != len(a.seal) {
				return fmt.Errorf("stdout_raw has %d bytes, want %d", len(v), len(a.seal))
			}
			a.seal = [sha256.Size]byte(v)
		case 7:
			if a.summary = string(v); strings.ContainsFunc(a.summary, unprintable) {
				return fmt.Errorf("stderr_raw is not a line of text: %.80q", v)
			}
		}
		return nil
	})
	if err == nil && !(found[containerName] && found[descriptorName]) {
		err = fmt.Errorf("missing output file %s or %s", containerName, descriptorName)
	}
	if err != nil {
		return nil, fmt.Errorf("not an entry of zinc: %w", err)
	}
	return a, nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func outputFile(b []byte) (name string, d blob, err error) {
	err = fields(b, func(n protowire.Number, v []byte, _ uint64) (err error) {
		switch n {
		case 1:
			name = string(v)
		case 2:
			d, err = digest(v)
		}
		return err
	})
	return name, d, err
}

func digest(b []byte) (d blob, err error) {
	err = fields(b, func(n protowire.Number, v []byte, x uint64) error {
		switch n {
		case 1:
			if k, err := hex.Decode(d.sum[:], v[:min(len(v), 2*len(d.sum))]); err != nil || k != len(d.sum) ||
				len(v) != 2*k {
				return fmt.Errorf("hash %.80q is not a SHA-256", v)
			}
		case 2:
			if x > MaxRemoteBytes {
				return fmt.Errorf("a file of %d bytes, limit %d", x, MaxRemoteBytes)
			}
			d.size = int64(x)
		}
		return nil
	})
	return d, err
}

// fields calls a function with each field of a message: the bytes of a length-delimited one, the number of a varint.
func fields(b []byte, each func(n protowire.Number, v []byte, x uint64) error) error {
	for len(b) > 0 {
		n, typ, k := protowire.ConsumeTag(b)
		if k < 0 {
			return protowire.ParseError(k)
		}
		var v []byte
		var x uint64
		rest := b[k:]
		switch typ {
		case protowire.BytesType:
			v, k = protowire.ConsumeBytes(rest)
		case protowire.VarintType:
			x, k = protowire.ConsumeVarint(rest)
		default:
			k = protowire.ConsumeFieldValue(n, typ, rest)
		}
		if k < 0 {
			return protowire.ParseError(k)
		}
		if k > len(rest) {
			return errors.New("truncated")
		}
		b = rest[k:]
		if err := each(n, v, x); err != nil {
			return err
		}
	}
	return nil
}
