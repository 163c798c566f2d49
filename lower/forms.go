package lower

import (
	"errors"
	"strings"
)

// noFit is why a form of a rule does not fit what is to be emitted.
type noFit string

func (n noFit) Error() string { return string(n) }

// form is one way to emit the tasks of an operation. Before it emits any, fits or emit returns a noFit if the form does
// not fit; fits may be nil.
type form[T any] struct {
	name string
	fits func(b *builder, x T) error
	emit func(b *builder, x T) error
}

// emitFirst emits x in the first form that fits. If none does, the error is what each of them requires.
func emitFirst[T any](b *builder, x T, forms []form[T]) error {
	var why []string
	for _, f := range forms {
		var err error
		if f.fits != nil {
			err = f.fits(b, x)
		}
		if err == nil {
			err = f.emit(b, x)
		}
		no, ok := err.(noFit)
		if !ok {
			return err
		}
		why = append(why, f.name+": "+string(no))
	}
	return errors.New(strings.Join(why, "; "))
}
