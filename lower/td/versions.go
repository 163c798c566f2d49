package td

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// VersionV10 is the descriptor version of the register image.
const VersionV10 = 10

// Codec encodes and decodes one version of the descriptor.
type Codec struct {
	Version int
	Name    string // of the descriptor, as chapter 23 writes it
	Encode  func(t *Task) ([]byte, error)
	Decode  func(b []byte) (*Task, error)
}

// Codecs are the versions that zinc reads and writes.
var Codecs = []Codec{
	{Version: Version, Name: "ZinAneTd<7>", Encode: encodeV7, Decode: decodeV7},
	{Version: VersionV10, Name: "ZinAneTdHw_v10", Encode: EncodeV10, Decode: DecodeV10},
}

// CodecOf returns the codec of a version; the error for an unknown version names it.
func CodecOf(version int) (*Codec, error) {
	var known []string
	for i := range Codecs {
		if Codecs[i].Version == version {
			return &Codecs[i], nil
		}
		known = append(known, fmt.Sprintf("%d (%s)", Codecs[i].Version, Codecs[i].Name))
	}
	return nil, fmt.Errorf("task descriptor version %d (ZinAneTdHw_v%d) is not known: known are %s", version, version,
		strings.Join(known, " and "))
}

func encodeV7(t *Task) ([]byte, error) {
	ws, err := t.Encode()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 4*len(ws))
	for i, w := range ws {
		binary.LittleEndian.PutUint32(b[4*i:], w)
	}
	return b, nil
}

func decodeV7(b []byte) (*Task, error) {
	if len(b)%4 != 0 {
		return nil, badf(0, "task of %d bytes: it consists of words of 4", len(b))
	}
	ws := make([]uint32, len(b)/4)
	for i := range ws {
		ws[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return Decode(ws)
}

// ImagesMagic opens a file of images.
const ImagesMagic = "ZTDI"

// ImagesHeader is the number of bytes before the first image: magic, u16 descriptor version, u16 bytes of an image.
const ImagesHeader = 8

// EncodeImages returns a file of version-10 images: the header, then the images one after the other.
func EncodeImages(images [][]byte) ([]byte, error) {
	out := append(make([]byte, 0, ImagesHeader+ImageSize*len(images)), ImagesMagic...)
	out = binary.LittleEndian.AppendUint16(out, VersionV10)
	out = binary.LittleEndian.AppendUint16(out, ImageSize)
	for i, img := range images {
		if len(img) != ImageSize {
			return nil, fmt.Errorf("image %d has %#x bytes, want %#x", i, len(img), ImageSize)
		}
		out = append(out, img...)
	}
	return out, nil
}

// ScanImages reads what EncodeImages writes. The images share b's bytes. With an error it returns the images that are
// whole.
func ScanImages(b []byte) ([][]byte, error) {
	if len(b) < ImagesHeader || string(b[:4]) != ImagesMagic {
		return nil, imagef(0, "a file of images opens with %d bytes, the first four %q", ImagesHeader, ImagesMagic)
	}
	version := int(binary.LittleEndian.Uint16(b[4:]))
	if _, err := CodecOf(version); err != nil {
		return nil, imagef(4, "version: %v", err)
	}
	if version != VersionV10 {
		return nil, imagef(4, "version: descriptor version %d has no register image, version %d has", version,
			VersionV10)
	}
	if n := binary.LittleEndian.Uint16(b[6:]); n != ImageSize {
		return nil, imagef(6, "image size %#x: a version-10 image has %#x bytes", n, ImageSize)
	}
	rest := b[ImagesHeader:]
	images := make([][]byte, len(rest)/ImageSize)
	for i := range images {
		images[i] = rest[i*ImageSize : (i+1)*ImageSize]
	}
	if len(rest)%ImageSize != 0 {
		return images, imagef(len(b)-len(rest)%ImageSize, "image of %#x bytes: it has %#x", len(rest)%ImageSize,
			ImageSize)
	}
	return images, nil
}
