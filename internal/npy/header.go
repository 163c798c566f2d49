package npy

import (
	"fmt"
	"strconv"
	"strings"
)

// header is the contents of a file's header.
type header struct {
	descr   string
	fortran bool
	shape   []int64
}

// headerReader reads the Python dictionary literal that is the header: keys in
// any order, strings in either kind of quotes, a tuple of integers.
type headerReader struct {
	text string
	at   int
	base int // byte offset of text in the file
}

func (r *headerReader) errorf(format string, args ...any) error {
	return fmt.Errorf("npy: byte %d: header: %s", r.base+r.at, fmt.Sprintf(format, args...))
}

func (r *headerReader) space() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// take skips white space and then the given text, if it comes next.
func (r *headerReader) take(s string) bool {
	r.space()
	if !strings.HasPrefix(r.text[r.at:], s) {
		return false
	}
	r.at += len(s)
	return true
}

func (r *headerReader) str() (string, error) {
	r.space()
	if r.at < len(r.text) && (r.text[r.at] == '\'' || r.text[r.at] == '"') {
		if n := strings.IndexByte(r.text[r.at+1:], r.text[r.at]); n >= 0 {
			s := r.text[r.at+1 : r.at+1+n]
			r.at += n + 2
			return s, nil
		}
	}
	return "", r.errorf("expected a string in quotes (arrays of records cannot be read)")
}

func (r *headerReader) boolean() (bool, error) {
	switch {
	case r.take("True"):
		return true, nil
	case r.take("False"):
		return false, nil
	}
	return false, r.errorf("expected True or False")
}

func (r *headerReader) tuple() ([]int64, error) {
	if !r.take("(") {
		return nil, r.errorf("expected a shape in parentheses")
	}
	shape := []int64{}
	for !r.take(")") {
		r.space()
		end := r.at
		for end < len(r.text) && r.text[end] >= '0' && r.text[end] <= '9' {
			end++
		}
		d, err := strconv.ParseInt(r.text[r.at:end], 10, 64)
		if err != nil {
			return nil, r.errorf("expected a dimension below 2^63, found %q", r.text[r.at:min(len(r.text), r.at+24)])
		}
		r.at = end
		if shape = append(shape, d); len(shape) > maxRank {
			return nil, r.errorf("more than %d dimensions", maxRank)
		}
		r.take("L") // suffix of long integers in Python 2
		if !r.take(",") && !strings.HasPrefix(r.text[r.at:], ")") {
			return nil, r.errorf("expected , or ) in the shape")
		}
	}
	return shape, nil
}

func parseHeader(text string, base int) (h header, err error) {
	r := &headerReader{text: text, base: base}
	if !r.take("{") {
		return h, r.errorf("expected a dictionary in braces")
	}
	seen := map[string]bool{}
	for !r.take("}") {
		key, err := r.str()
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, r.errorf("key %q comes twice", key)
		}
		seen[key] = true
		if !r.take(":") {
			return h, r.errorf("expected : after %q", key)
		}
		switch key {
		case "descr":
			h.descr, err = r.str()
		case "fortran_order":
			h.fortran, err = r.boolean()
		case "shape":
			h.shape, err = r.tuple()
		default:
			err = r.errorf("key %q, want descr, fortran_order and shape", key)
		}
		if err != nil {
			return h, err
		}
		r.space()
		if !r.take(",") && !strings.HasPrefix(r.text[r.at:], "}") {
			return h, r.errorf("expected , or }")
		}
	}
	if r.space(); r.at != len(text) {
		return h, r.errorf("text after the dictionary")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, r.errorf("lacks %q", key)
		}
	}
	return h, nil
}
