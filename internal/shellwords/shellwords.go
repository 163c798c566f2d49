// Package shellwords splits a line into words and quotes words by the rules of a POSIX
// shell, without expansion.
package shellwords

import (
	"fmt"
	"strings"
)

// Split splits a command line into words. Single quotes keep everything; double quotes
// keep everything except a backslash before a quote or a backslash; outside quotes a
// backslash keeps the next byte.
func Split(s string) ([]string, error) {
	var out []string
	var word []byte
	in, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'':
			word = append(word, c)
		case c == '\\' && (quote == 0 || i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\')):
			if i++; i == len(s) {
				return nil, fmt.Errorf("%q ends in a backslash; want a character after it", s)
			}
			word, in = append(word, s[i]), true
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if in {
				out = append(out, string(word))
			}
			word, in = nil, false
		default:
			word, in = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q: missing closing quote %c", s, quote)
	}
	if in {
		out = append(out, string(word))
	}
	return out, nil
}

// Quote quotes a word for a POSIX shell if necessary.
func Quote(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:=,@%+", r)
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Join joins the words of a command for a POSIX shell.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}
