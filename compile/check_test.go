package compile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestCheckNamesTheFault damages a compiled pair as a faulty pass would: the error names the check that finds it, and
// the statement of the task.
func TestCheckNamesTheFault(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, f *hwx.File, p *e5.Program)
		check  string
		where  string
	}{
		{name: "nothing", damage: func(*testing.T, *hwx.File, *e5.Program) {}},
		{name: "a task that reads L2 which nothing wrote", damage: func(t *testing.T, f *hwx.File, _ *e5.Program) {
			p := f.Procedures()[0]
			text, entry, _ := f.Text().Of(p)
			l, err := td.V7.DecodeChain(text, entry, p.FirstWords)
			if err != nil {
				t.Fatal(err)
			}
			last := l[len(l)-1]
			at, ok := td.V7.WordIndex(last.Task, td.L2Src)
			if !ok {
				t.Fatal("the last task says no place of its source")
			}
			b := text[last.Off+4*at:]
			b[2] |= 0x10 // 0x100000 on
		}, check: "the hazard check", where: "softmax"},
		{name: "a port whose name is too long", damage: func(_ *testing.T, f *hwx.File, _ *e5.Program) {
			p := f.Ports()[0]
			for _, x := range f.Tensors() {
				if x.Name == p.Name {
					x.Name = strings.Repeat("x", 5000)
				}
			}
			p.Name = strings.Repeat("x", 5000)
		}, check: "the container's loader"},
		{name: "a descriptor of another container", damage: func(_ *testing.T, _ *hwx.File, p *e5.Program) {
			for _, b := range p.Functions[0].Blocks {
				for _, op := range b.Operations {
					if a, ok := op.Attrs.(*e5.AneInferenceAttrs); ok {
						a.AneHash = "0"
					}
				}
			}
		}, check: "the runtime's loader"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irbuild.New(1)
			y := g.Op("linear", "x", g.Input(3, 64), "weight", g.Weights(64, 64))
			g.Output(g.Op("softmax", "x", y, "axis", -1))
			r, err := All(context.Background(), g.Program(), Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			hash := ""
			for _, b := range r.E5.Functions[0].Blocks {
				for _, op := range b.Operations {
					if a, ok := op.Attrs.(*e5.AneInferenceAttrs); ok {
						hash = a.AneHash
					}
				}
			}
			c.damage(t, r.HWX, r.E5)
			u := &unit{procs: r.Functions[0].Procedures, state: &passes.State{Program: &ir.Program{}}}
			d := &driver{hash: hash, units: []*unit{u}}
			err = d.check(r.HWX, r.E5)
			fault := (*FaultError)(nil)
			switch errors.As(err, &fault); {
			case c.check == "" && err == nil:
			case fault == nil:
				t.Errorf("error %v, want a fault that %q finds", err, c.check)
			case fault.Check != c.check || !strings.HasSuffix(fault.Where, c.where):
				t.Errorf("%v", err)
			}
		})
	}
}

// TestPortsHaveNamesThatLoad checks that names of values that are invalid in a firmware container, because they are too
// long or not printable, become valid names of ports.
func TestPortsHaveNamesThatLoad(t *testing.T) {
	for _, name := range []string{
		strings.Repeat("x", 256), strings.Repeat("x", 5000), strings.Repeat("é", 200), "a\nb", "a\xffb", "\u200b",
	} {
		g := irbuild.New(1)
		x, y := g.Input(2, 32), g.Input(2, 32)
		z := g.Op("add", "x", x, "y", y)
		x.Name, y.Name, z.Name = name, name+"2", name+"3"
		g.Output(z)
		r, err := All(context.Background(), g.Program(), Options{Target: target.H13})
		if err != nil {
			t.Errorf("%.20q: %v", name, err)
			continue
		}
		seen := map[string]bool{}
		for _, p := range r.HWX.Ports() {
			if seen[p.Name] || len(p.Name) > 255 {
				t.Errorf("%.20q: port %q", name, p.Name)
			}
			seen[p.Name] = true
		}
	}
}

// TestLastPassBeforeAFault checks that a panic in each pass, and one after them, is attributed to the last pass that
// was completed.
func TestLastPassBeforeAFault(t *testing.T) {
	names := passes.Names()
	for i, n := range append(names, "") {
		var fault error = &passes.Panic{Pass: n}
		if n == "" {
			fault = &FaultError{Err: errors.New("refused")}
		}
		want := ""
		if i > 0 {
			want = names[i-1]
		}
		if got := LastPass(fmt.Errorf("internal: %w", fault)); got != want {
			t.Errorf("pass %q: %q was done before, want %q", n, got, want)
		}
	}
	if got := LastPass(errors.New("no such file")); got != "" {
		t.Errorf("an error of another kind: %q", got)
	}
}

// TestPanicAfterThePasses checks that a panic of the backend is not attributed to a pass.
func TestPanicAfterThePasses(t *testing.T) {
	defer func() {
		p, ok := recover().(*Panic)
		if !ok || p.Value != "injected" || LastPass(p) == "" {
			t.Errorf("%v", p)
		}
	}()
	g := irbuild.New(1)
	g.Output(g.Op("relu", "x", g.Input(1, 8, 4, 4)))
	_, err := All(t.Context(), g.Program(), Options{Target: target.H13, Progress: func(stage string, _, _ int) {
		if stage == "lower" {
			panic("injected")
		}
	}})
	t.Error("no panic:", err)
}
