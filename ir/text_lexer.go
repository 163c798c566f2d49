package ir

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// Tokens of the text form.
const (
	tokWord   lexer.TokenType = iota + 1 // keywords, operation and type names
	tokNumber                            // decimal integers, hexadecimal floats
	tokString                            // quoted as Go quotes
	tokValue                             // a name without its mark, already unquoted
	tokPunct
)

// textLexer splits the text form into tokens in one pass over the source.
type textLexer struct{}

// Symbols returns the names of the token types for the grammar.
func (textLexer) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF":    lexer.EOF,
		"Word":   tokWord,
		"Number": tokNumber,
		"String": tokString,
		"Value":  tokValue,
		"Punct":  tokPunct,
	}
}

// Lex reads everything and lexes it.
func (d textLexer) Lex(filename string, r io.Reader) (lexer.Lexer, error) {
	src, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return d.LexBytes(filename, src)
}

// LexBytes lexes a source that is in memory.
func (textLexer) LexBytes(filename string, src []byte) (lexer.Lexer, error) {
	return &scanner{src: string(src), at: lexer.Position{Filename: filename, Line: 1, Column: 1}}, nil
}

type scanner struct {
	src   string
	at    lexer.Position
	depth int
}

func (s *scanner) advance(n int) {
	part := s.src[s.at.Offset : s.at.Offset+n]
	if i := strings.LastIndexByte(part, '\n'); i >= 0 {
		s.at.Line += strings.Count(part, "\n")
		s.at.Column = 1 + utf8.RuneCountInString(part[i+1:])
	} else {
		s.at.Column += utf8.RuneCountInString(part)
	}
	s.at.Offset += n
}

// Next returns the next token.
func (s *scanner) Next() (lexer.Token, error) {
	n := 0
	for rest := s.src[s.at.Offset:]; n < len(rest) && (rest[n] == ' ' || rest[n] == '\n' || rest[n] == '\t' ||
		rest[n] == '\r'); {
		n++
	}
	s.advance(n)
	rest := s.src[s.at.Offset:]
	tok := lexer.Token{Pos: s.at, Type: lexer.EOF}
	if rest == "" {
		return tok, nil
	}
	n = 1
	c := rest[0]
	switch {
	case c == '"':
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return tok, participle.Errorf(s.at, "string is not terminated or has an invalid escape")
		}
		if tok.Value, err = strconv.Unquote(q); err != nil {
			return tok, participle.Errorf(s.at, "invalid string %s", q)
		}
		tok.Type, n = tokString, len(q)
	case c == '%' && len(rest) > 1 && rest[1] == '"':
		q, err := strconv.QuotedPrefix(rest[1:])
		if err != nil {
			return tok, participle.Errorf(s.at, "name is not terminated or has an invalid escape")
		}
		if tok.Value, err = strconv.Unquote(q); err != nil {
			return tok, participle.Errorf(s.at, "invalid name %s", q)
		}
		tok.Type, n = tokValue, 1+len(q)
	case c == '%':
		for n < len(rest) && isNameByte(rest[n]) {
			n++
		}
		if n == 1 {
			return tok, participle.Errorf(s.at, "missing name after %%")
		}
		tok.Type, tok.Value = tokValue, rest[1:n]
	case c == '-' || c >= '0' && c <= '9':
		for n < len(rest) && (isNameByte(rest[n]) || (rest[n] == '+' || rest[n] == '-') && rest[n-1] == 'p') {
			n++
		}
		tok.Type, tok.Value = tokNumber, rest[:n]
	case isNameByte(c):
		for n < len(rest) && isNameByte(rest[n]) {
			n++
		}
		tok.Type, tok.Value = tokWord, rest[:n]
	case strings.IndexByte("(){}[]<>,:=@?", c) >= 0:
		switch c {
		case '{', '(', '<', '[':
			if s.depth++; s.depth > 4*maxNesting {
				return tok, participle.Errorf(s.at, "brackets are nested deeper than the limit of %d", 4*maxNesting)
			}
		case '}', ')', '>', ']':
			s.depth--
		}
		tok.Type, tok.Value = tokPunct, rest[:1]
	default:
		return tok, participle.Errorf(s.at, "unexpected character %q", firstRune(rest))
	}
	s.advance(n)
	return tok, nil
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
