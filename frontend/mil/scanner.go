package mil

import (
	"fmt"
	"unicode/utf8"
)

// kind is the kind of a token. The kind of a punctuation mark is its byte.
type kind uint8

const (
	eofToken kind = iota
	illegalToken
	nameToken
	numberToken
	stringToken
	arrowToken    // ->
	ellipsisToken // ...
)

var kindNames = [...]string{
	eofToken: "end of file", illegalToken: "illegal text", nameToken: "a name", numberToken: "a number",
	stringToken: "a string", arrowToken: `"->"`, ellipsisToken: `"..."`,
}

// String returns the name of a token of kind k in messages.
func (k kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("%q", string(rune(k)))
}

// A token is a range of bytes of the source.
type token struct {
	kind     kind
	pos, end int
}

// A fault is the reason why a token is illegal.
type fault struct {
	code string
	msg  string
	hint string
}

// A scanner splits a text into tokens.
type scanner struct {
	src   string
	off   int
	fault fault // of the last illegal token
}

// next returns the next token, skipping white space and comments.
func (s *scanner) next() token {
	src := s.src
	i := s.off
	for i < len(src) {
		c := src[i]
		switch {
		case classes[c]&spaceByte != 0:
			i++
		case classes[c]&letterByte != 0:
			start := i
			for i++; i < len(src) && classes[src[i]]&nameByte != 0 && src[i] != '/'; {
				i++
			}
			if i < len(src) && src[i] == '/' {
				i += nameLen(src[i:])
			}
			s.off = i
			return token{nameToken, start, i}
		case classes[c]&digitByte != 0 || c == '-' || c == '+' || c == '.':
			return s.number(i)
		case c == '"':
			n := stringLen(src[i:])
			if n < 0 {
				return s.openString(i)
			}
			s.off = i + n
			return token{stringToken, i, s.off}
		case c == '/':
			n := commentLen(src[i:])
			switch {
			case n == 0:
				return s.illegal(i, i+1, fault{"mil-syntax", `unexpected "/"`, ""})
			case n < 0:
				return s.illegal(i, len(src), fault{"mil-comment", `comment has no "*/"`, ""})
			}
			i += n
		default:
			if c < utf8.RuneSelf && punctuation[c] {
				s.off = i + 1
				return token{kind(c), i, i + 1}
			}
			r, n := utf8.DecodeRuneInString(src[i:])
			f := fault{code: "mil-syntax", msg: fmt.Sprintf("unexpected character %q (%U)", r, r)}
			if r == utf8.RuneError && n == 1 {
				f.msg = fmt.Sprintf("byte 0x%02x is not UTF-8", c)
				f.hint = "MIL text is UTF-8; open a binary model as a .mlpackage or .mlmodel"
			}
			return s.illegal(i, i+n, f)
		}
	}
	s.off = len(src)
	return token{eofToken, len(src), len(src)}
}

var punctuation = func() (t [utf8.RuneSelf]bool) {
	for _, c := range "()[]{}<>,;=?" {
		t[c] = true
	}
	return t
}()

func (s *scanner) illegal(pos, end int, f fault) token {
	s.off = end
	s.fault = f
	return token{illegalToken, pos, end}
}

// number scans a token that starts with a digit, a sign or a point.
func (s *scanner) number(i int) token {
	src := s.src
	n, _ := scanNumber(src[i:])
	if n > 0 {
		if classes[src[i]]&digitByte != 0 && i+n < len(src) && nameLen(src[i+n:]) > 0 {
			// A name that begins with a digit.
			s.off = i + nameLen(src[i:])
			return token{nameToken, i, s.off}
		}
		s.off = i + n
		return token{numberToken, i, s.off}
	}
	rest := src[i:]
	switch {
	case len(rest) >= 2 && rest[:2] == "->":
		s.off = i + 2
		return token{arrowToken, i, s.off}
	case len(rest) >= 3 && rest[:3] == "...":
		s.off = i + 3
		return token{ellipsisToken, i, s.off}
	}
	return s.illegal(i, i+1, fault{"mil-syntax", fmt.Sprintf("unexpected %q", src[i:i+1]), ""})
}

// openString reports a string that is not closed on its line and continues at the end of the line, so that the next
// statement is read.
func (s *scanner) openString(i int) token {
	end := i + 1
	for end < len(s.src) && s.src[end] != '\n' {
		end++
	}
	return s.illegal(i, end, fault{"mil-string", "string is not closed on its line",
		`write a line break in a string as \n`})
}
