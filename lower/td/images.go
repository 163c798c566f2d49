package td

import (
	"encoding/binary"
	"fmt"
)

// ImagesMagic opens a file of images.
const ImagesMagic = "ZTDI"

// ImagesHeader is the number of bytes before the first image: magic, u16 descriptor version, u16 bytes of an image.
const ImagesHeader = 8

// EncodeImages returns a file of version-10 images: the header, then the images one after the other.
func EncodeImages(images [][]byte) ([]byte, error) {
	out := append(make([]byte, 0, ImagesHeader+ImageSize*len(images)), ImagesMagic...)
	out = binary.LittleEndian.AppendUint16(out, uint16(V10.Version))
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
	if version != V10.Version {
		return nil, imagef(4, "version: descriptor version %d has no register image, version %d has", version,
			V10.Version)
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
