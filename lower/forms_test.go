package lower

import (
	"errors"
	"testing"
)

// TestFirstFormThatFitsIsEmitted checks that forms are tried in order, that other errors end the search, and that the
// error says what each form requires if none fits.
func TestFirstFormThatFitsIsEmitted(t *testing.T) {
	var emitted string
	emits := func(name string, err error) form[int] {
		return form[int]{name, nil, func(*builder, int) error {
			if err == nil {
				emitted += name
			}
			return err
		}}
	}
	no := func(name, why string) form[int] {
		return form[int]{name, func(*builder, int) error { return noFit(why) }, func(*builder, int) error {
			emitted += name
			return nil
		}}
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		forms      []form[int]
		want, fail string
	}{
		{[]form[int]{no("a", "rows"), emits("b", nil), emits("c", nil)}, "b", ""},
		{[]form[int]{emits("a", noFit("rows")), emits("b", nil)}, "b", ""},
		{[]form[int]{no("a", "rows"), emits("b", broken), emits("c", nil)}, "", "broken"},
		{[]form[int]{no("a", "rows"), emits("b", noFit("columns"))}, "", "a: rows; b: columns"},
	} {
		emitted = ""
		err := emitFirst(nil, 0, c.forms)
		if got := errorText(err); emitted != c.want || got != c.fail {
			t.Errorf("emits %q with error %q, want %q and %q", emitted, got, c.want, c.fail)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
