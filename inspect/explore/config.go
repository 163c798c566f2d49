package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Config is the body of a request to compile: what to compile, and how.
type Config struct {
	Model     string `json:"model"`
	Version   string `json:"version"` // name of the zinc that compiles
	Target    string `json:"target"`
	Precision string `json:"precision"`
	Place     string `json:"place"`
	TDForm    string `json:"td_form"`
	Join      bool   `json:"join_constants"` // constants after the tasks, not in segments of their own
	Func      string `json:"function"`
	// Shapes are shapes of inputs instead of their defaults.
	Shapes map[string][]int64 `json:"shapes,omitempty"`
	// Text replaces the model's own text.
	Text *string `json:"text,omitempty"`
}

// choices lists the accepted values of a field of Config, the default first.
var choices = []struct {
	name  string
	of    func(c *Config) *string
	words []string
}{
	{"target", func(c *Config) *string { return &c.Target }, targetNames()},
	{"precision", func(c *Config) *string { return &c.Precision }, []string{passes.PrecisionDeclared,
		passes.PrecisionFP16}},
	{"place", func(c *Config) *string {
		return &c.Place
	}, []string{passes.PlaceAuto, passes.PlaceCompute, passes.PlaceEngine}},
	{"td_form", func(c *Config) *string { return &c.TDForm }, []string{"sparse", "full"}},
}

// targetNames returns the targets with programs, then those with placement only.
func targetNames() []string {
	names := target.Compiled()
	for _, t := range target.All {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// resolve fills in defaults and refuses unknown values.
func (c *Config) resolve(m *model, versions []Version) error {
	c.Version = cmp.Or(c.Version, thisVersion)
	if c.Version != thisVersion && !slices.ContainsFunc(versions, func(v Version) bool { return v.Name == c.Version }) {
		names := []string{thisVersion}
		for _, v := range versions {
			names = append(names, v.Name)
		}
		return fmt.Errorf("version is %q, want one of %s", cut(c.Version), strings.Join(names, ", "))
	}
	for _, f := range choices {
		v := f.of(c)
		if *v == "" {
			*v = f.words[0]
		}
		if t, err := target.Lookup(*v); err == nil && v == &c.Target {
			*v = t.Name
		}
		if !slices.Contains(f.words, *v) {
			return fmt.Errorf("%s is %q, want one of %s", f.name, cut(*v), strings.Join(f.words, ", "))
		}
	}
	if c.Func != "" && c.Text == nil && !slices.Contains(m.Funcs, c.Func) {
		return fmt.Errorf("function is %q, want one of %s", cut(c.Func), strings.Join(m.Funcs, ", "))
	}
	if c.Text != nil {
		if m.Fixed {
			return errFixed
		}
		if *c.Text == m.text {
			c.Text = nil // one compilation, one key
		} else if !utf8.ValidString(*c.Text) {
			return fmt.Errorf("text is not valid UTF-8")
		}
	}
	return nil
}

// cut shortens a value for a message.
func cut(s string) string {
	const most = 40
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// key names a compilation: equal keys, equal answers.
// by is the executable that compiles, nil for the zinc that runs.
func (c *Config) key(m *model, by *toolchain.Executable) string {
	h := sha256.New()
	version := compile.Version
	if by != nil {
		version = by.SHA256
	}
	json.NewEncoder(h).Encode(struct {
		Version, Text string
		Config        *Config
	}{version, m.SHA256, c})
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// compiled reports whether zinc writes programs for the target.
func (c *Config) compiled() bool { return slices.Contains(target.Compiled(), c.Target) }

// options returns the compiler's options.
func (c *Config) options(file string) (compile.Options, error) {
	t, err := target.Lookup(c.Target)
	if err != nil {
		return compile.Options{}, err
	}
	return compile.Options{
		Target: t, Precision: c.Precision, Place: c.Place, SplitKernel: !c.Join, FullTD: c.TDForm == "full",
		Func:   c.Func,
		Shapes: []map[string][]int64{c.Shapes}, InputName: file, Provenance: true,
	}, nil
}
