package ir

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar of the text form. Every choice depends only on the next token, so an error is
// reported at the token that causes it.
type (
	textProgram struct {
		Version string      `parser:"'program' @String"`
		Files   []string    `parser:"('file' @String)*"`
		Build   []textPair  `parser:"('build' @@)*"`
		Funcs   []*textFunc `parser:"@@*"`
	}
	textPair struct {
		Key   string `parser:"@String"`
		Value string `parser:"@String"`
	}
	textFunc struct {
		Pos    lexer.Position
		Name   string       `parser:"'func' @Value"`
		Opset  string       `parser:"@String"`
		Params []*textDef   `parser:"'(' (@@ (',' @@)*)? ')'"`
		Loc    *textLoc     `parser:"@@? '{'"`
		Flex   []*textFlex  `parser:"@@*"`
		Consts []*textConst `parser:"@@*"`
		Body   *textBody    `parser:"@@ '}'"`
	}
	textDef struct {
		Pos  lexer.Position
		Name string    `parser:"@Value ':'"`
		Type *textType `parser:"@@"`
		Loc  *textLoc  `parser:"@@?"`
	}
	textLoc struct {
		File string `parser:"'@' @Number"`
		Line string `parser:"':' @Number"`
		Col  string `parser:"':' @Number"`
	}
	textTensor struct {
		DType string   `parser:"'tensor' '<' @Word ','"`
		Dims  []string `parser:"'[' (@(Number | '?') (',' @(Number | '?'))*)? ']' '>'"`
	}
	textType struct {
		Pos    lexer.Position
		Tensor *textTensor `parser:"  @@"`
		List   *textTensor `parser:"| 'list' '<' @@"`
		Len    string      `parser:"  ',' @(Number | '?') '>'"`
		State  *textTensor `parser:"| 'state' '<' @@ '>'"`
	}
	textInts struct {
		V []string `parser:"'[' (@Number (',' @Number)*)? ']'"`
	}
	textShape struct {
		Name string   `parser:"@String"`
		Dims textInts `parser:"@@"`
	}
	textFlex struct {
		Pos     lexer.Position
		Default *textShape   `parser:"'flex' (  'default' @@"`
		Range   *textShape   `parser:"        | 'range' @@"`
		IsEnum  bool         `parser:"        | @'enum' '{'"`
		Enum    []*textShape `parser:"          @@* '}' )"`
	}
	textConst struct {
		Pos  lexer.Position
		Def  *textDef  `parser:"'const' @@ '='"`
		Blob *textBlob `parser:"(  'blob' @@"`
		Hex  *string   `parser:" | 'hex' @String"`
		List *textList `parser:" | @@ )"`
		Pack *textPack `parser:"@@?"`
		From string    `parser:"('from' @String)?"`
		Loc  *textLoc  `parser:"@@?"`
	}
	textPack struct {
		Book   *string `parser:"  'palette' @String"`
		Sparse bool    `parser:"| @'sparse'"`
		Axis   *string `parser:"| 'int8' @Number"`
		Scales string  `parser:"    @String"`
	}
	textBlob struct {
		At   string `parser:"'(' @Number"`
		Size string `parser:"',' @Number ')'"`
	}
	textList struct {
		V []string `parser:"'[' (@(Number | Word | String) (',' @(Number | Word | String))*)? ']'"`
	}
	textBody struct {
		Ops []*textOp  `parser:"@@*"`
		Ret []*textRef `parser:"'return' (@@ (',' @@)*)?"`
	}
	textRef struct {
		Pos  lexer.Position
		Name string `parser:"@Value"`
	}
	textArg struct {
		Pos  lexer.Position
		Name string     `parser:"@Word '='"`
		One  *textRef   `parser:"(  @@"`
		Many []*textRef `parser:" | '(' (@@ (',' @@)*)? ')' )"`
	}
	textPlace struct {
		Unit   string `parser:"@Word"`
		Rule   string `parser:"@String"`
		Reason string `parser:"@String"`
	}
	textBlock struct {
		Params []*textDef `parser:"'(' (@@ (',' @@)*)? ')' '{'"`
		Body   *textBody  `parser:"@@ '}'"`
	}
	textOp struct {
		Pos     lexer.Position
		Results []*textDef   `parser:"( 'do' | @@ (',' @@)* '=' )"`
		Op      string       `parser:"@Word"`
		Since   string       `parser:"('<' @Word '>')?"`
		Args    []*textArg   `parser:"'(' (@@ (',' @@)*)? ')'"`
		Name    string       `parser:"('name' @String)?"`
		Place   *textPlace   `parser:"('on' @@)?"`
		InPlace bool         `parser:"@('in' 'place')?"`
		Loc     *textLoc     `parser:"@@?"`
		Blocks  []*textBlock `parser:"('block' @@)*"`
	}
)

// Without lookahead the parser never backtracks, so errors are reported where they are.
var textGrammar = sync.OnceValue(func() *participle.Parser[textProgram] {
	return participle.MustBuild[textProgram](participle.Lexer(textLexer{}), participle.UseLookahead(0))
})

// maxText is the maximum size of the source: positions are 32-bit.
const maxText = 1 << 30

// Parse reads the text form that Print writes, or PrintTo with large constants in data. Constants
// refer to data, which must not change. Parse checks names, parameters and the bytes of constants,
// not the typing rules: Verify does.
func Parse(filename string, src, data []byte) (*Program, error) {
	if len(src) > maxText {
		return nil, participle.Errorf(lexer.Position{Filename: filename, Line: 1, Column: 1},
			"the text has %d bytes, which exceeds the limit of %d", len(src), maxText)
	}
	t, err := textGrammar().ParseBytes(filename, src)
	if err != nil {
		return nil, err
	}
	r := &resolver{data: data}
	return r.program(t)
}
