// Package filename makes names of files that a file system accepts.
//
// It takes names of any length, such as names of models and values, and returns names of at most Max bytes.
//
// Invariants: the same arguments give the same name, a name that fits stays as it is, and different names stay
// different when they are cut.
package filename

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Max is the maximum length in bytes of the name of a file or folder on the file systems in use.
const Max = 255

// digits is how many hexadecimal digits of its digest mark a name that is cut.
const digits = 12

// Join returns stem + suffix. Where that exceeds limit bytes, the end of the stem makes room for a digest of the stem.
func Join(stem, suffix string, limit int) string {
	if len(stem)+len(suffix) <= limit {
		return stem + suffix
	}
	n := min(max(limit-len(suffix)-1-digits, 0), len(stem))
	for n > 0 && n < len(stem) && !utf8.RuneStart(stem[n]) {
		n--
	}
	return stem[:n] + mark(stem) + suffix
}

// mark returns what sets the name apart from others that are cut or written to the same.
func mark(name string) string { return fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))[:1+digits] }

// Of returns a file name of at most limit bytes for any text. Characters other than letters and digits of ASCII, '_'
// and '-' become '_', and a digest of the text follows.
func Of(text string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, text)
	if clean == text {
		return Join(text, "", limit)
	}
	return clean[:min(len(clean), max(limit-1-digits, 0))] + mark(text)
}

// Beside returns path with suffix after its name, which is cut where the result exceeds Max.
func Beside(path, suffix string) string {
	dir, name := filepath.Split(path)
	return dir + Join(name, suffix, Max)
}
