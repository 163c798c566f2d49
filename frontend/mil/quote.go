package mil

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// escapes maps the letter after a backslash to the byte it denotes.
var escapes = [256]byte{
	'"': '"', '\'': '\'', '\\': '\\', '/': '/', '?': '?',
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// stringLen returns the length of the string literal at the start of s, which begins with a quote: -1 if its line or
// the text ends first.
func stringLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
			if i < len(s) && s[i] == '\n' {
				return -1
			}
		case '\n':
			return -1
		}
	}
	return -1
}

// unquote returns the string that the literal tok, quotes included, denotes. The error names the wrong escape; an
// escapeError also has its offset in tok.
func unquote(tok string) (string, error) {
	body := tok[1 : len(tok)-1]
	if strings.IndexByte(body, '\\') < 0 {
		if !utf8.ValidString(body) {
			return "", &escapeError{invalidUTF8(body) + 1, "string is not UTF-8"}
		}
		return body, nil
	}
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		c := body[i]
		if c != '\\' {
			r, n := utf8.DecodeRuneInString(body[i:])
			if r == utf8.RuneError && n == 1 {
				return "", &escapeError{i + 1, "string is not UTF-8"}
			}
			out = append(out, body[i:i+n]...)
			i += n
			continue
		}
		b, n, err := unescape(body[i:])
		if err != "" {
			return "", &escapeError{i + 1, err}
		}
		out = append(out, b...)
		i += n
	}
	return string(out), nil
}

// unescape converts the escape at the start of s and returns its length.
func unescape(s string) (bytes []byte, n int, fault string) {
	if len(s) < 2 {
		return nil, 0, "unterminated escape"
	}
	if e := escapes[s[1]]; e != 0 {
		return []byte{e}, 2, ""
	}
	switch c := s[1]; {
	case c == 'x':
		v, n := digits(s[2:], 16, 2)
		if n == 0 {
			return nil, 0, `\x needs one or two hexadecimal digits`
		}
		return []byte{byte(v)}, 2 + n, ""
	case c >= '0' && c <= '7':
		v, n := digits(s[1:], 8, 3)
		if v > 255 {
			return nil, 0, fmt.Sprintf("octal escape \\%s is above 377", s[1:1+n])
		}
		return []byte{byte(v)}, 1 + n, ""
	case c == 'u', c == 'U':
		want := 4
		if c == 'U' {
			want = 8
		}
		v, n := digits(s[2:], 16, want)
		if n != want || v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
			return nil, 0, fmt.Sprintf(`\%c needs %d hexadecimal digits of a Unicode character`, c, want)
		}
		return utf8.AppendRune(nil, rune(v)), 2 + n, ""
	}
	r, _ := utf8.DecodeRuneInString(s[1:])
	return nil, 0, fmt.Sprintf(`unknown escape \%c`, r)
}

// digits reads at most limit digits of the base.
func digits(s string, base uint32, limit int) (v uint32, n int) {
	for n < limit && n < len(s) {
		c := uint32(s[n])
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return v, n
		}
		if c >= base {
			return v, n
		}
		v = v*base + c
		n++
	}
	return v, n
}

func invalidUTF8(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return len(s)
}

// escapeError is a fault at a byte of a string literal.
type escapeError struct {
	off int // from the opening quote
	msg string
}

func (e *escapeError) Error() string { return e.msg }

// appendQuoted appends s as a string literal that unquote turns back into s.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
			} else {
				b = append(b, s[i:i+n]...)
			}
			i += n
			continue
		}
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			if c < ' ' || c == 0x7f {
				b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
			} else {
				b = append(b, c)
			}
		}
		i++
	}
	return append(b, '"')
}
