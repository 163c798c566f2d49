package netplist

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	"howett.net/plist"
)

// Limits of a property list. The decoder recurses, so nesting is counted before
// it runs; a description needs five levels.
const (
	// MaxSize is the largest property list, in bytes.
	MaxSize  = 16 << 20
	maxDepth = 32
	// maxObjects bounds the decoded list: a binary list may refer to one object any number of times.
	maxObjects = 1 << 20
)

// binaryMagic begins a binary property list.
const binaryMagic = "bplist00"

// prefixSize is the number of bytes that Is examines.
const prefixSize = 4096

// Is reports whether a file that begins with b is a property list. Other forms of models are not.
func Is(b []byte) bool {
	if bytes.HasPrefix(b, []byte(binaryMagic)) {
		return true
	}
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n")
	if !bytes.HasPrefix(b, []byte("<")) {
		return false
	}
	return bytes.Contains(b[:min(len(b), prefixSize)], []byte("<plist"))
}

// decode returns the dictionary of a property list.
func decode(src []byte) (map[string]any, error) {
	if len(src) > MaxSize {
		return nil, fmt.Errorf("the property list has %d bytes, the limit is %d", len(src), MaxSize)
	}
	scan := scanXML
	if bytes.HasPrefix(src, []byte(binaryMagic)) {
		scan = scanBinary
	}
	if err := scan(src); err != nil {
		return nil, err
	}
	var v any
	if _, err := plist.Unmarshal(src, &v); err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the property list must be a dictionary, got %s", shown(v))
	}
	return m, nil
}

// scanXML checks nesting and keys of an XML list: a key may occur only once in its dictionary, since decoding would
// silently keep the last.
func scanXML(src []byte) error {
	d := xml.NewDecoder(bytes.NewReader(src))
	var keys []map[string]bool // of the open elements
	n := 0
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			n++
			switch {
			case n == 1 && tok.Name.Local != "plist":
				return fmt.Errorf("byte %d: the root element must be plist, got %q", d.InputOffset(), tok.Name.Local)
			case len(keys) >= maxDepth:
				return fmt.Errorf("byte %d: nested deeper than %d", d.InputOffset(), maxDepth)
			case n > maxObjects:
				return fmt.Errorf("byte %d: more than %d elements", d.InputOffset(), maxObjects)
			}
			keys = append(keys, nil)
			if tok.Name.Local != "key" {
				break
			}
			var name string
			if err := d.DecodeElement(&name, &tok); err != nil {
				return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
			}
			keys = keys[:len(keys)-1]
			if len(keys) == 0 {
				return errors.New("the root element must be plist")
			}
			top := &keys[len(keys)-1]
			if *top == nil {
				*top = map[string]bool{}
			}
			if (*top)[name] {
				return fmt.Errorf("byte %d: duplicate key %s; delete one", d.InputOffset(),
					shown(name))
			}
			(*top)[name] = true
		case xml.EndElement:
			keys = keys[:len(keys)-1]
		}
	}
	if n == 0 {
		return errors.New("missing plist element")
	}
	return nil
}
