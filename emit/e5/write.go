package e5

import "io"

// Bytes returns the descriptor's bytes. It fails, with a *ModelError, on a
// Program that breaks a rule of the model.
func Bytes(p *Program) ([]byte, error) {
	return nil, &ModelError{Msg: "writer not built yet"}
}

// Write writes the descriptor's bytes to w.
func Write(w io.Writer, p *Program) error {
	b, err := Bytes(p)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}
