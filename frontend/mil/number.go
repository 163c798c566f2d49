package mil

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// atomSet is the set of kinds of atoms in a literal.
type atomSet uint8

const (
	intAtom atomSet = 1 << iota
	bigAtom         // an integer above the largest int64, up to the largest uint64
	floatAtom
	boolAtom
	stringAtom
	negAtom // an integer below zero
)

// numericAtoms are the kinds that Floats converts.
const numericAtoms = intAtom | bigAtom | floatAtom | negAtom

// byteClass states where in a token a byte may occur.
type byteClass uint8

const (
	spaceByte byteClass = 1 << iota
	letterByte
	digitByte
	hexByte
	nameByte // may continue a name; the scanner distinguishes "/" from comments
)

var classes = func() (t [256]byteClass) {
	for _, c := range " \t\r\n" {
		t[c] |= spaceByte
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= letterByte | nameByte
		t[c-'a'+'A'] |= letterByte | nameByte
	}
	t['_'] |= letterByte | nameByte
	for c := '0'; c <= '9'; c++ {
		t[c] |= digitByte | hexByte | nameByte
	}
	for _, c := range "abcdefABCDEF" {
		t[c] |= hexByte
	}
	t['.'] |= nameByte
	t['/'] |= nameByte
	t['@'] |= nameByte // model specifications allow it
	return t
}()

// scanNumber finds the longest number at the start of s. It returns its length, 0 if there is none, and its kind:
// intAtom, of any size, or floatAtom.
func scanNumber(s string) (n int, kind atomSet) {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	if i >= len(s) {
		return 0, 0
	}
	switch c := s[i]; {
	case c == '0' && i+1 < len(s) && s[i+1]|0x20 == 'x':
		return scanHex(s, i)
	case classes[c]&digitByte != 0 || c == '.':
		return scanDecimal(s, i)
	case i > 0 && (strings.HasPrefix(s[i:], "inf") || strings.HasPrefix(s[i:], "nan")):
		if nameLen(s[i:]) != 3 {
			return 0, 0
		}
		return i + 3, floatAtom
	}
	return 0, 0
}

func scanHex(s string, i int) (int, atomSet) {
	kind := intAtom
	zero := i
	i += 2
	digits := i
	for i < len(s) && classes[s[i]]&hexByte != 0 {
		i++
	}
	count := i - digits
	if i < len(s) && s[i] == '.' {
		kind = floatAtom
		i++
		frac := i
		for i < len(s) && classes[s[i]]&hexByte != 0 {
			i++
		}
		count += i - frac
	}
	if count == 0 {
		return zero + 1, intAtom // the zero before the x
	}
	if n := scanExponent(s[i:], 'p'); n > 0 {
		return i + n, floatAtom
	}
	return i, kind
}

func scanDecimal(s string, i int) (int, atomSet) {
	kind := intAtom
	start := i
	for i < len(s) && classes[s[i]]&digitByte != 0 {
		i++
	}
	count := i - start
	if i < len(s) && s[i] == '.' {
		frac := i + 1
		j := frac
		for j < len(s) && classes[s[j]]&digitByte != 0 {
			j++
		}
		count += j - frac
		i, kind = j, floatAtom
	}
	if count == 0 {
		return 0, 0
	}
	if n := scanExponent(s[i:], 'e'); n > 0 {
		return i + n, floatAtom
	}
	return i, kind
}

// scanExponent returns the length of an exponent that starts with mark at the start of s, 0 if there is none.
func scanExponent(s string, mark byte) int {
	if len(s) < 2 || s[0]|0x20 != mark {
		return 0
	}
	i := 1
	if s[i] == '+' || s[i] == '-' {
		i++
	}
	digits := i
	for i < len(s) && classes[s[i]]&digitByte != 0 {
		i++
	}
	if i == digits {
		return 0
	}
	return i
}

// nameLen returns the length of the name at the start of s. A "/" that opens a
// comment ends it.
func nameLen(s string) int {
	i := 0
	for i < len(s) && classes[s[i]]&nameByte != 0 {
		if s[i] == '/' && i+1 < len(s) && (s[i+1] == '/' || s[i+1] == '*') {
			break
		}
		i++
	}
	return i
}

// classifyInt returns intAtom, with negAtom for a negative, or bigAtom; 0 means that tok fits neither int64 nor uint64.
func classifyInt(tok string) atomSet {
	neg := tok[0] == '-'
	if len(tok) <= 17 { // at most 15 hexadecimal digits or 17 decimal ones
		if neg {
			return intAtom | negAtom
		}
		return intAtom
	}
	if _, err := parseInt(tok); err == nil {
		if neg {
			return intAtom | negAtom
		}
		return intAtom
	}
	if _, err := parseUint(tok); err == nil {
		return bigAtom
	}
	return 0
}

// intBase splits an integer's text for strconv; a leading zero is decimal.
func intBase(tok string) (digits string, base int) {
	sign := ""
	if tok[0] == '-' {
		sign = "-"
	}
	body := strings.TrimLeft(tok, "+-")
	if len(body) > 2 && body[1]|0x20 == 'x' {
		return sign + body[2:], 16
	}
	return sign + body, 10
}

func parseInt(tok string) (int64, error) {
	if len(tok) <= 9 && classes[tok[0]]&digitByte != 0 {
		v, ok := int64(0), true
		for i := 0; i < len(tok); i++ {
			ok = ok && classes[tok[i]]&digitByte != 0
			v = v*10 + int64(tok[i]-'0')
		}
		if ok {
			return v, nil
		}
	}
	digits, base := intBase(tok)
	return strconv.ParseInt(digits, base, 64)
}

func parseUint(tok string) (uint64, error) {
	digits, base := intBase(tok)
	return strconv.ParseUint(digits, base, 64)
}

// parseFloat converts a number that scanNumber accepted. The result is exact if float64 can represent the number, else
// rounded to nearest even; a number that is too large becomes infinite.
func parseFloat(tok string) float64 {
	if v, ok := parseHexFloat(tok); ok {
		return v
	}
	neg := tok[0] == '-'
	body := strings.TrimLeft(tok, "+-")
	v := 0.0
	switch {
	case body == "inf":
		v = math.Inf(1)
	case body == "nan":
		v = math.NaN()
	default:
		if len(body) > 2 && body[1]|0x20 == 'x' && !strings.ContainsAny(body, "pP") {
			body += "p0" // strconv wants an exponent
		}
		v, _ = strconv.ParseFloat(body, 64) // the text is a number; out of range returns inf or 0, as intended
	}
	if neg {
		return math.Copysign(v, -1)
	}
	return v
}

// parseHexFloat converts the form that compilers write, [-]0xH.HHHp[+-]DD, when
// its digits fit 53 bits and the result is far from the limits of float64, so
// that no rounding can happen.
func parseHexFloat(tok string) (float64, bool) {
	i := 0
	neg := false
	if tok[0] == '-' || tok[0] == '+' {
		neg = tok[0] == '-'
		i = 1
	}
	if len(tok)-i < 4 || tok[i] != '0' || tok[i+1]|0x20 != 'x' {
		return 0, false
	}
	var mant uint64
	shift := 0
	point := false
	for i += 2; i < len(tok); i++ {
		c := tok[i]
		var d byte
		switch {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			d = c - 'A' + 10
		case c == '.':
			point = true
			continue
		case c|0x20 == 'p':
			exp, neg2 := 0, false
			if i++; i < len(tok) && (tok[i] == '-' || tok[i] == '+') {
				neg2 = tok[i] == '-'
				i++
			}
			if len(tok)-i > 3 {
				return 0, false
			}
			for ; i < len(tok); i++ {
				exp = exp*10 + int(tok[i]-'0')
			}
			if neg2 {
				exp = -exp
			}
			exp += shift
			if exp < -900 || exp > 900 {
				return 0, false
			}
			v := float64(mant) * math.Float64frombits(uint64(exp+1023)<<52)
			if neg {
				v = -v
			}
			return v, true
		default:
			return 0, false
		}
		if mant >= 1<<49 {
			return 0, false
		}
		mant = mant<<4 | uint64(d)
		if point {
			shift -= 4
		}
	}
	return 0, false
}

// appendHexFloat appends v in the form that compilers write.
func appendHexFloat(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		if math.Signbit(v) {
			b = append(b, '-')
		}
		return append(b, "nan"...)
	case math.IsInf(v, 0):
		if v < 0 {
			b = append(b, '-')
		}
		return append(b, "inf"...)
	}
	// strconv writes at least two exponent digits, compilers as many as needed.
	s := strconv.FormatFloat(v, 'x', -1, 64)
	p := strings.IndexByte(s, 'p')
	b = append(b, s[:p+2]...)
	exp := strings.TrimLeft(s[p+2:], "0")
	exp = cmp.Or(exp, "0")
	return append(b, exp...)
}
