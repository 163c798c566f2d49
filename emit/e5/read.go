package e5

// Read checks a whole descriptor and returns its Program. The data of constants
// and of extra sections is that of buf, not a copy. Every error is a
// *FormatError.
func Read(buf []byte) (*Program, error) {
	return nil, &FormatError{Table: "E5Program", Msg: "reader not built yet"}
}
