package dump

import (
	"strings"
	"testing"
)

func TestKindIsDetectedFromContent(t *testing.T) {
	for _, c := range []struct {
		b    string
		want Kind
	}{
		{"\xce\xfa\xef\xbe", KindContainer},
		{"\x93NUMPY\x01\x00", KindArray},
		{"\x01\x00\x00\x00\x02\x00\x00\x00", KindWeights},
		{"program(1.3)", KindText},
		{"ZTDR\x01\x00\x2c\x00", KindRecords},
		{"ZTDI\x0a\x00\xac\x03", KindImages},
		{"zinc tasks, descriptor 10, text 1", KindTasks},
		{"// a comment: été\r\nprogram", KindText},
		{strings.Repeat("é", 5000), KindText},
		{"x" + strings.Repeat("é", 5000), KindText},
		{"\x10\x00\x00\x00\x00\x00", KindOther},
		{"abc\x00", KindOther},
		{"\xff\xfe", KindOther},
	} {
		if got := KindOf([]byte(c.b)); got != c.want {
			t.Errorf("%.20q is kind %d, want %d", c.b, got, c.want)
		}
	}
}
