package compile

import (
	"regexp"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// MIL has no modules. Converters keep the module of a layer in the name of its weights, as in
// encoder_layers_0_self_attn_linear_q_weight_to_fp16: the scopes of a report are guessed from those names.

var (
	// scopeTail is what converters add to the name of a module.
	scopeTail = regexp.MustCompile(`([_.](weight|bias|gamma|beta|to_fp16|to_fp32|palettized|quantized|sparsified|` +
		`cast|cast_fp16|cast_fp32))+$`)
	// scopeless are names that converters number, and names of passes: they have no module. So have the scopes of an
	// operation and its number.
	scopeless = regexp.MustCompile(`^(%|(var|op|const|weight|bias|input|cast|x|y|q|k|v)(_|[0-9]|$))`)
	numbered  = regexp.MustCompile(`^([a-z_0-9]+?)_[0-9]+(_|$)`)
)

// scopeOf returns the module in the name of a weight, outermost first: the parts before, at and after each number, as
// in encoder_layers/0/self_attn_linear_q. It returns "" for a name without a module.
func scopeOf(name string) string {
	if m := numbered.FindStringSubmatch(name); scopeless.MatchString(name) || m != nil && ir.Named(m[1]) != nil {
		return ""
	}
	var parts []string
	number := true // the last part is one, or there is none
	for _, part := range strings.FieldsFunc(scopeTail.ReplaceAllString(name, ""), isScopeSeparator) {
		digits := strings.Trim(part, "0123456789") == ""
		if number || digits {
			parts = append(parts, part)
		} else {
			parts[len(parts)-1] += "_" + part
		}
		number = digits
	}
	return strings.Join(parts, "/")
}

func isScopeSeparator(r rune) bool { return r == '_' || r == '.' || r == '/' }

// scopes returns the guessed modules of operations in order. An operation without named weights is in the module of the
// operation before it.
func scopes(ops []*ir.Op) []string {
	out := make([]string, len(ops))
	last := ""
	for i, op := range ops {
		for _, arg := range op.Args {
			for _, v := range arg {
				if !v.IsConst() || !v.Type.DType.IsFloat() || v.Type.Elems() < 2 {
					continue
				}
				if s := scopeOf(v.Name); s != "" {
					last = s
				}
			}
		}
		out[i] = last
	}
	return out
}
