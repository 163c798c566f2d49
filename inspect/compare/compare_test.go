package compare

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// open opens a model for a target.
func open(t *testing.T, path, name string) *Side {
	t.Helper()
	x, err := target.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Request{
		Path:    path,
		Compile: compile.Options{Target: x, Precision: "declared", SplitKernel: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// bare returns the side of a model's pair alone, without debug database.
func bare(t *testing.T, m *Side) *Side {
	t.Helper()
	s, err := OpenPair(m.name+" compiled", m.pair, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digits(t *testing.T) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join("..", "..", "examples", "digits", "digits.mlmodelc"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// changed copies a model and changes its text and its weights.
func changed(t *testing.T, dir string, text func(string) string, weights func(text string, b []byte)) string {
	t.Helper()
	to := t.TempDir()
	src, err := os.ReadFile(filepath.Join(dir, "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "weights", "weight.bin"))
	if err != nil {
		t.Fatal(err)
	}
	out := string(src)
	if text != nil {
		if out = text(out); out == string(src) {
			t.Fatal("the text is as it was")
		}
	}
	if weights != nil {
		weights(out, b)
	}
	if err := os.Mkdir(filepath.Join(to, "weights"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"model.mil": []byte(out), "weights/weight.bin": b} {
		if err := os.WriteFile(filepath.Join(to, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// setWeight returns a change of one fp16 element of a constant.
func setWeight(t *testing.T, name string, element int, pattern uint16) func(string, []byte) {
	return func(text string, b []byte) {
		m := regexp.MustCompile(regexp.QuoteMeta(name) + ` = const.*offset = [^(]*\((\d+)\)`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no blob of %s", name)
		}
		at, _ := strconv.Atoi(m[1])
		data := int(binary.LittleEndian.Uint64(b[at+16:]))
		binary.LittleEndian.PutUint16(b[data+2*element:], pattern)
	}
}

// move takes the line that defines a name behind the one that defines another.
func move(t *testing.T, name, behind string) func(string) string {
	return func(text string) string {
		lines := strings.Split(text, "\n")
		find := func(n string) int {
			i := slices.IndexFunc(lines, func(l string) bool {
				return strings.Contains(l, "> "+n+" = ") || strings.Contains(l, " "+n+" = const")
			})
			if i < 0 {
				t.Fatalf("no statement %s", n)
			}
			return i
		}
		i := find(name)
		l := lines[i]
		lines = slices.Delete(lines, i, i+1)
		return strings.Join(slices.Insert(lines, find(behind)+1, l), "\n")
	}
}

func replace(old, with string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, with, 1) }
}

// lines writes changes for comparison: level, subject, kind, of effects indented.
func lines(cs []*Change) (out []string) {
	for _, c := range cs {
		out = append(out, string(c.Level)+": "+c.Subject+" "+string(c.Kind))
		for _, e := range c.Effects {
			out = append(out, "  "+string(e.Level)+": "+e.Subject+" "+string(e.Kind))
		}
	}
	return out
}

func compared(t *testing.T, a, b *Side, o Options) *Result {
	t.Helper()
	r, err := Compare(t.Context(), a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func expect(t *testing.T, r *Result, want ...string) {
	t.Helper()
	if got := lines(r.Changes); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.Same != (len(want) == 0) {
		t.Errorf("same is %v", r.Same)
	}
}

func expectDetail(t *testing.T, details []string, want string) {
	t.Helper()
	if !slices.ContainsFunc(details, func(d string) bool { return strings.Contains(d, want) }) {
		t.Errorf("no detail has %q: %q", want, details)
	}
}

func TestChangesOfTheExampleHaveTheirEffects(t *testing.T) {
	dir := digits(t)
	for _, c := range []struct {
		name    string
		text    func(string) string
		weights func(string, []byte)
		detail  string
		want    []string
		pairs   []string // between the pairs alone
	}{
		{name: "nothing"},
		{
			name: "weight", weights: setWeight(t, "conv2_weight", 100, 0x4400),
			detail: "1 of 1152 values: first [1, 3, 0, 1] ",
			want: []string{
				"constants: constant conv2_weight (weight of conv conv2) changed",
				"  constants: packed constants of conv conv2, relu conv2_relu by convolution changed",
				"  ir: conv conv2 changed",
			},
			pairs: []string{"constants: coefficients of task 2 of net changed"},
		},
		{
			name: "bias", weights: setWeight(t, "conv3_bias", 2, 0x4400), detail: "1 of 10 values: first [2] ",
			want: []string{
				"constants: constant conv3_bias (bias of conv conv3) changed",
				"  constants: packed constants of conv conv3 by convolution changed",
				"  ir: conv conv3 changed",
			},
			pairs: []string{"constants: coefficients of task 4 of net changed"},
		},
		{
			name: "constant moved", text: move(t, "channels", "groups"), detail: "and is after const groups",
			want: []string{"mil: const channels moved"},
		},
		{
			name: "spelling alone", text: replace("bool(false)", "bool( false )"),
		},
		{
			name: "renamed", text: func(s string) string {
				return strings.ReplaceAll(s, "conv1_pool", "first_pool")
			}, detail: "name: conv1_pool -> first_pool",
			want: []string{
				"mil: max_pool conv1_pool changed",
			},
		},
		{
			name: "operation", text: replace("relu(x = conv1)", "tanh(x = conv1)"), detail: "operation: relu -> tanh",
			want: []string{
				"mil: relu conv1_relu changed",
				"  ir: relu conv1_relu changed",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := open(t, dir, "h13"), open(t, changed(t, dir, orNot(c.text), c.weights), "h13")
			if c.text == nil {
				b = open(t, changed(t, dir, nil, c.weights), "h13")
			}
			r := compared(t, a, b, Options{})
			t.Log(strings.Join(lines(r.Changes), "\n"))
			if c.name == "operation" {
				// What a table instead of a clamp does to the tasks is not held here.
				expectDetail(t, r.Changes[0].Details, c.detail)
				if len(r.Changes) != 1 {
					t.Errorf("%d changes, want 1", len(r.Changes))
				}
				return
			}
			expect(t, r, c.want...)
			if c.detail != "" && len(r.Changes) > 0 {
				expectDetail(t, r.Changes[0].Details, c.detail)
			}
			expect(t, compared(t, bare(t, a), bare(t, b), Options{}), c.pairs...)
		})
	}
}

// TestTwoChangesHaveTheirOwnEffects checks that each of two changes has its own effects.
func TestTwoChangesHaveTheirOwnEffects(t *testing.T) {
	dir := digits(t)
	b := changed(t, dir, move(t, "channels", "groups"), func(text string, b []byte) {
		setWeight(t, "conv1_weight", 3, 0x4400)(text, b)
		setWeight(t, "conv3_bias", 2, 0x4400)(text, b)
	})
	expect(t, compared(t, open(t, dir, "h13"), open(t, b, "h13"), Options{}),
		"mil: const channels moved",
		"constants: constant conv1_weight (weight of conv conv1) changed",
		"  constants: packed constants of conv conv1, relu conv1_relu by convolution changed",
		"  ir: conv conv1 changed",
		"constants: constant conv3_bias (bias of conv conv3) changed",
		"  constants: packed constants of conv conv3 by convolution changed",
		"  ir: conv conv3 changed")
}

// TestModelsThatDoNotCompileAreCompared checks that they are compared as far as possible, and that the result states
// what was omitted.
func TestModelsThatDoNotCompileAreCompared(t *testing.T) {
	dir := digits(t)
	x, err := target.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	bad, err := Open(t.Context(), Request{
		Path:    dir,
		Compile: compile.Options{Target: x, SplitKernel: true, Func: "nowhere"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	r := compared(t, open(t, dir, "h13"), bad, Options{})
	if !strings.Contains(r.B.NoPair, "nowhere") {
		t.Errorf("no pair: %q", r.B.NoPair)
	}
	for _, l := range r.Levels {
		want := slices.Contains([]Level{IR, Placement, Cost, Tasks, Container, Chain}, l.Level)
		if (l.Missing != "") != want {
			t.Errorf("%s: missing %q", l.Level, l.Missing)
		}
	}
	if _, err := Bytes(bad, bad); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("bytes: %v", err)
	}
}

func orNot(f func(string) string) func(string) string {
	if f == nil {
		return func(s string) string { return s + "\n" }
	}
	return f
}

// TestTargetsDifferByTheirLimits compares a model for two targets: only what the limits decide differs.
func TestTargetsDifferByTheirLimits(t *testing.T) {
	r := compared(t, open(t, digits(t), "h13"), open(t, digits(t), "h19"), Options{})
	expect(t, r, "settings: target changed", "  limits: limits of h19 compared with those of h13 changed")
	expectDetail(t, r.Changes[0].Effects[0].Details, "MaxKernelW: 13 -> 16")
	for _, l := range r.Levels {
		if l.Level == Tasks && l.Missing != "B: zinc writes no programs for target h19" {
			t.Errorf("tasks: %q", l.Missing)
		}
	}
}

// TestOutputsOfPairsAreCompared runs two pairs that differ in one weight.
func TestOutputsOfPairsAreCompared(t *testing.T) {
	dir := digits(t)
	a := open(t, dir, "h13")
	b := open(t, changed(t, dir, nil, setWeight(t, "conv2_weight", 100, 0x4400)), "h13")
	r := compared(t, a, b, Options{Outputs: true, Seed: 1, Levels: []Level{MIL, Constants}})
	e := r.Changes[0].Effects
	c := e[len(e)-1]
	if len(r.Changes) != 1 || c.Level != Outputs {
		t.Fatalf("%q", lines(r.Changes))
	}
	expectDetail(t, c.Details, "first task with another result: task 2 of net, of conv conv2, relu conv2_relu "+
		"by convolution")
	expectDetail(t, c.Details, "output probs: ")
	expect(t, compared(t, a, open(t, dir, "h13"), Options{Outputs: true, Seed: 1}))
}

// TestRangesOfAChangedWeightAreListed also compares their contents. TestEstimatedSidesHaveTheSameChanges compares sides
// without pairs: at the levels that need none, the result is as for sides with pairs, but for packed constants.
func TestEstimatedSidesHaveTheSameChanges(t *testing.T) {
	dir := digits(t)
	weights := setWeight(t, "conv2_weight", 100, 0x4400)
	b := changed(t, dir, replace("conv1_relu = relu(", "conv1_relu = sigmoid("), weights)
	estimated := func(path string) *Side {
		s, err := Open(t.Context(), Request{
			Path:         path,
			Compile:      compile.Options{Target: target.H13, Precision: "declared", SplitKernel: true},
			EstimateOnly: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if s.file != nil {
			t.Errorf("%s: a pair was built", path)
		}
		return s
	}
	o := Options{Levels: []Level{Settings, MIL, Constants, Placement, Cost}}
	got, want := compared(t, estimated(dir), estimated(b), o), compared(t, open(t, dir, "h13"), open(t, b, "h13"), o)
	for _, c := range got.Levels {
		if c.Missing != "" {
			t.Errorf("level %s is missing: %s", c.Level, c.Missing)
		}
	}
	if got.B.NoPair != "" {
		t.Errorf("side B: %s", got.B.NoPair)
	}
	expect(t, got, slices.DeleteFunc(lines(want.Changes), func(l string) bool {
		return strings.HasPrefix(l, "  constants: packed constants of ")
	})...)
	if !reflect.DeepEqual(got.Cost, want.Cost) {
		t.Errorf("cost %+v, want %+v", got.Cost, want.Cost)
	}
	o.SameWeights = true
	if l := lines(compared(t, estimated(dir), estimated(b), o).Changes); slices.ContainsFunc(l, func(s string) bool {
		return strings.Contains(s, "constant conv2_weight")
	}) || len(l) == 0 {
		t.Errorf("weights said to be the same: %q", l)
	}
	for _, c := range compared(t, estimated(dir), estimated(b), Options{}).Levels {
		if c.Level == Tasks && c.Missing != notBuilt {
			t.Errorf("tasks: missing %q, want %q", c.Missing, notBuilt)
		}
	}
}

func TestRangesOfAChangedWeightAreListed(t *testing.T) {
	dir := digits(t)
	a := open(t, dir, "h13")
	b := open(t, changed(t, dir, nil, setWeight(t, "conv2_weight", 100, 0x4400)), "h13")
	rs, err := Bytes(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var owners []string
	for _, r := range rs {
		if !slices.Contains(owners, r.File+" "+r.Owner) {
			owners = append(owners, r.File+" "+r.Owner)
		}
		x, y := a.pair.Container, b.pair.Container
		if r.File == "descriptor" {
			x, y = a.pair.Descriptor, b.pair.Descriptor
		}
		if x[r.A] == y[r.B] {
			t.Errorf("%+v begins with a byte that is the same", r)
		}
	}
	slices.Sort(owners)
	want := []string{"container names of symbols",
		"container packed constants of conv conv2, relu conv2_relu by convolution", "descriptor descriptor"}
	if !slices.Equal(owners, want) {
		t.Errorf("owners %q, want %q", owners, want)
	}
	if rs, err := Bytes(a, open(t, dir, "h13")); len(rs) > 0 || err != nil {
		t.Errorf("%v %v", rs, err)
	}
}

// TestOneChangeOfARealModelIsNamed checks that only this change is named.
func TestOneChangeOfARealModelIsNamed(t *testing.T) {
	shared := shareddir.Find(t)
	dir := shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", "whisper-tiny-encoder"))
	a := open(t, dir, "h13")
	t.Run("weight", func(t *testing.T) {
		b := open(t, changed(t, dir, nil, setWeight(t, "weight_7_to_fp16", 1000, 0x4300)), "h13")
		r := compared(t, a, b, Options{})
		expect(t, r,
			"constants: constant weight_7_to_fp16 (weight of conv var_45_cast) changed",
			"  constants: packed constants of conv var_45_cast, gelu x_3_cast by convolution changed",
			"  ir: conv var_45_cast changed")
		expectDetail(t, r.Changes[0].Details, "1 of 442368 values: first [0, 333, 1] ")
		expectDetail(t, r.Changes[0].Effects[0].Details, "values: 1 of 442368 halfwords")
		expect(t, compared(t, bare(t, a), bare(t, b), Options{}), "constants: coefficients of task 1 of net changed")
	})
	t.Run("epsilon", func(t *testing.T) {
		line := regexp.MustCompile(`(var_71_to_fp16 = const.*)\(0x1\.5p-17\)`)
		b := open(t, changed(t, dir, func(s string) string {
			return line.ReplaceAllString(s, "$1(0x1.8p-10)")
		}, nil), "h13")
		r := compared(t, a, b, Options{})
		expect(t, r,
			"constants: constant var_71_to_fp16 (epsilon of layer_norm var_82_cast, epsilon of layer_norm "+
				"var_146_cast) changed",
			"  ir: layer_norm var_82_cast changed",
			"  ir: layer_norm var_146_cast changed",
			"  tasks: tasks of layer_norm var_82_cast by layer_norm changed",
			"  tasks: tasks of layer_norm var_146_cast by layer_norm changed")
		for _, e := range r.Changes[0].Effects[2:] {
			if len(e.Details) != 2 || e.Details[0] != "8 tasks" || !strings.HasPrefix(e.Details[1],
				"PE.Epsilon: 168 -> 5632 ") {
				t.Errorf("%q", e.Details)
			}
		}
		var want []string
		for _, first := range [...]int{13, 178} { // a task takes 192 of the 1,500 rows
			for i := range 8 {
				want = append(want, fmt.Sprintf("tasks: task %d of net changed", first+i))
			}
		}
		expect(t, compared(t, bare(t, a), bare(t, b), Options{}), want...)
	})
	t.Run("order", func(t *testing.T) {
		b := open(t, changed(t, dir, move(t, "k_1_cast", "v_1_cast"), nil), "h13")
		r := compared(t, a, b, Options{})
		if len(r.Changes) != 1 {
			t.Fatalf("%q", lines(r.Changes))
		}
		c := r.Changes[0]
		expectDetail(t, lines(r.Changes), "mil: linear k_1_cast moved")
		for _, e := range c.Effects {
			switch s := string(e.Level) + ": " + e.Subject + " " + string(e.Kind); s {
			case "ir: linear k_1_cast moved", "tasks: tasks of linear k_1_cast by linear moved",
				"tasks: addresses moved", "container: section __DATA,__bss changed":
			case "tasks: tasks of linear k_1_cast by linear changed",
				"tasks: tasks of linear v_1_cast by linear changed":
				// The first task that reads an image fetches it for the next.
				expectDetail(t, e.Details, "TileDMASrc.SrcCacheHint: ")
			default:
				t.Errorf("effect %s %q", s, e.Details)
			}
		}
		expect(t, compared(t, bare(t, a), bare(t, b), Options{}), "tasks: task 26 of net moved",
			"tasks: addresses moved")
	})
	t.Run("operation", func(t *testing.T) {
		gelu := regexp.MustCompile(`(> input_1_cast) = gelu\(mode = [a-z0-9_]+, (x = )`)
		if n := len(gelu.FindAllString(textOf(t, dir), -1)); n != 1 {
			t.Fatalf("%d statements to change", n)
		}
		b := open(t, changed(t, dir, func(s string) string {
			return gelu.ReplaceAllString(s, "$1 = relu($2")
		}, nil), "h13")
		r := compared(t, a, b, Options{})
		expect(t, r,
			"mil: gelu input_1_cast changed",
			"  constants: packed constants of conv var_28_cast, gelu input_1_cast by convolution changed",
			"  ir: gelu input_1_cast changed",
			"  placement: gelu input_1_cast changed",
			"  tasks: tasks of conv var_28_cast, gelu input_1_cast by convolution changed",
			"  tasks: addresses moved",
			"  container: section __KERN_0,__kern_0 changed")
		expectDetail(t, r.Changes[0].Details, "operation: gelu -> relu")
		expectDetail(t, r.Changes[0].Effects[0].Details, "holds table, bias, values -> bias, values")
		expectDetail(t, r.Changes[0].Effects[3].Details, "NE.NonlinearMode: 2 -> 1 ")
	})
	t.Run("target", func(t *testing.T) {
		r := compared(t, a, open(t, dir, "h19"), Options{})
		expect(t, r, "settings: target changed", "  limits: limits of h19 compared with those of h13 changed")
	})
}

func textOf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestScaleOfQuantisedWeightsIsOneChange checks that it is named with the weights.
func TestScaleOfQuantisedWeightsIsOneChange(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "corpus", "silero-v6-int8")
	scale := regexp.MustCompile(`encoder_layers_0_weight_to_fp16_quantized = constexpr_affine_dequantize[^;]*? ` +
		`scale = [^;]*?offset = tensor<uint64, \[\]>\((\d+)\)`)
	b := changed(t, dir, nil, func(text string, b []byte) {
		m := scale.FindStringSubmatch(text)
		if m == nil {
			t.Fatal("no scale")
		}
		at, _ := strconv.Atoi(m[1])
		binary.LittleEndian.PutUint16(b[binary.LittleEndian.Uint64(b[at+16:]):], 0x2c00)
	})
	r := compared(t, open(t, dir, "h13"), open(t, b, "h13"), Options{})
	expect(t, r,
		"constants: constant encoder_layers_0_weight_to_fp16_quantized.scale (scale of constexpr_affine_dequantize "+
			"encoder_layers_0_weight_to_fp16_quantized) changed",
		"  constants: packed constants of conv input_3_cast_fp16, relu x_5_cast_fp16 by convolution changed",
		"  ir: conv input_3_cast_fp16 changed")
	expectDetail(t, r.Changes[0].Details, "1 of 128 values: first [0] 0.00896454 -> 0.0625")
}
