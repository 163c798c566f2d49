package explore

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// statementNamed returns the index of a statement that is not a constant.
func (c *client) statementNamed(key, name string) int {
	c.t.Helper()
	var list paged[statement]
	c.must("/api/view/"+key+"/statements", nil, &list)
	for i, s := range list.Rows {
		if s.Name == name && s.Op != "const" {
			return i
		}
	}
	c.t.Fatalf("no statement %s", name)
	return 0
}

// TestCostAddsUp holds the parts, and the statements with the dispatches, against the total.
func TestCostAddsUp(t *testing.T) {
	c := newClient(t, small, digits)
	for _, model := range []string{"digits", "sample"} {
		key := c.compile(Config{Model: model}).Key
		var got costAnswer
		c.must("/api/view/"+key+"/cost", nil, &got)
		parts, ops, kinds := cost.Time(0), cost.Time(0), cost.Time(0)
		for _, p := range got.Parts {
			parts += p.Time
			if p.Name == "dispatch" || p.Name == "io" {
				ops += p.Time
				kinds += p.Time
			}
		}
		for _, s := range got.Statements {
			ops += s.Time
		}
		for _, k := range got.Kinds {
			kinds += k.Time
		}
		if !got.Estimated || got.Total == 0 || parts != got.Total || ops != got.Total || kinds != got.Total {
			t.Errorf("%s: total %s us, parts %s, statements %s, kinds %s", model, got.Total, parts, ops, kinds)
		}
	}
	// Statements say where they run, and why.
	key := c.compile(Config{Model: "sample"}).Key
	var got costAnswer
	c.must("/api/view/"+key+"/cost", nil, &got)
	at := c.statementNamed(key, "scores")
	i := slices.IndexFunc(got.Statements, func(s opCost) bool { return s.Statement == at })
	if i < 0 || !slices.Equal(got.Statements[i].Units, []string{"cpu"}) || got.Statements[i].Refusal == nil ||
		got.Statements[i].Refusal.Rule != "float-type" || got.Statements[i].Reason == "" {
		t.Errorf("scores: %+v", got.Statements)
	}
	if len(got.Causes) == 0 || got.Causes[0].First != at {
		t.Errorf("causes: %+v", got.Causes)
	}
	// A target without programs has places and reasons, and no times of the engine.
	placed := c.compile(Config{Model: "sample", Target: "h19"}).Key
	got = costAnswer{}
	c.must("/api/view/"+placed+"/cost", nil, &got)
	if got.Estimated || len(got.Statements) == 0 {
		t.Errorf("h15: %+v", got)
	}
}

// TestTasksSayWhatTheyDo compares the sentence of a task with what is known of the model.
func TestTasksSayWhatTheyDo(t *testing.T) {
	c := newClient(t, small, digits)
	key := c.compile(Config{Model: "digits"}).Key
	var list paged[taskRow]
	c.must("/api/view/"+key+"/tasks", nil, &list)
	want := "multiply with the kernel, clamp at zero, fp16 8x14x14 to 16x14x14, kernel 3x3, "
	if !slices.ContainsFunc(list.Rows, func(r taskRow) bool {
		return strings.HasPrefix(r.Does, want) && strings.HasSuffix(r.Does, " bound")
	}) {
		t.Errorf("no task does %q: %+v", want, list.Rows)
	}
}

// TestRewriteSavesWhatItSays applies advice to the text, and compares the compilation of the text with what was said.
func TestRewriteSavesWhatItSays(t *testing.T) {
	c := newClient(t, small)
	key := c.compile(Config{Model: "sample"}).Key
	var advice adviceAnswer
	c.must("/api/view/"+key+"/advice", `{}`, &advice)
	i := slices.IndexFunc(advice.Advice, func(a adviceRow) bool { return a.Recipe != "" })
	if i < 0 {
		t.Fatalf("%+v", advice)
	}
	a := advice.Advice[i]
	if a.No != "" || !a.Ran || a.After >= a.Before || len(a.Names) == 0 || len(a.Statements) != len(a.Names) {
		t.Fatalf("%+v", a)
	}
	var w rewriteAnswer
	c.must("/api/view/"+key+"/rewrite", rewriteQuery{Recipe: a.Recipe, Func: a.Function, Names: a.Names}, &w)
	if w.Before != a.Before || w.After != a.After || w.Dispatches != a.Dispatches || w.CPUOps != a.CPUOps {
		t.Errorf("advice %+v, rewrite %s to %s us", a, w.Before, w.After)
	}
	after := c.compile(Config{Model: "sample", Text: &w.Text})
	if !after.OK {
		t.Fatalf("%+v", after)
	}
	var got costAnswer
	c.must("/api/view/"+after.Key+"/cost", nil, &got)
	if off := math.Abs(float64(got.Total-w.After)) / float64(w.After); off > 0.001 {
		t.Errorf("the changed text takes %s us, said were %s", got.Total, w.After)
	}
	// The same for the one statement.
	var e explainAnswer
	c.must("/api/view/"+key+"/explain", explainQuery{c.statementNamed(key, "scores")}, &e)
	if len(e.Rewrites) == 0 || e.Rewrites[0].Recipe != a.Recipe || e.Rewrites[0].After != w.After ||
		len(e.Rewrites[0].Diff) == 0 {
		t.Errorf("%+v", e)
	}
	// Wrong requests are answered.
	for _, x := range []struct {
		path   string
		body   string
		status int
	}{
		{"/explain", `{"statement": -1}`, 400},
		{"/explain", `{"statement": 1e9}`, 400},
		{"/rewrite", `{}`, 400},
		{"/rewrite", `{"recipe": "none", "function": "main", "names": ["scores"]}`, 422},
		{"/rewrite", `{"recipe": "compute-in-fp16", "function": "none", "names": ["scores"]}`, 422},
		{"/rewrite", `{"recipe": "compute-in-fp16", "function": "main", "names": ["none"]}`, 422},
		{"/rewrite", `{"recipe": "compute-in-fp16", "function": "main", "names": ["mixed"]}`, 422},
		{"/advice", `{"x": 1}`, 400},
	} {
		if status, b := c.ask("/api/view/"+key+x.path, x.body); status != x.status {
			t.Errorf("%s %s: status %d, want %d: %s", x.path, x.body, status, x.status, b)
		}
	}
}

// checkGraph checks the order of edges, and that scopes are nested sequences with the nodes that name them.
func checkGraph(t *testing.T, g *graphAnswer) {
	t.Helper()
	for _, e := range g.Edges {
		if e[0] < 0 || e[0] >= e[1] || e[1] >= len(g.Nodes) {
			t.Fatalf("edge %v of %d nodes", e, len(g.Nodes))
		}
	}
	for i, s := range g.Scopes {
		if s.Parent >= i || s.First < 0 || s.Count < leastBlock || s.First+s.Count > len(g.Nodes) || s.Name == "" {
			t.Fatalf("scope %d: %+v", i, s)
		}
		if p := s.Parent; p >= 0 && (s.First < g.Scopes[p].First ||
			s.First+s.Count > g.Scopes[p].First+g.Scopes[p].Count) {
			t.Fatalf("scope %d is not in its parent: %+v, %+v", i, s, g.Scopes[p])
		}
		for k := s.First; k < s.First+s.Count; k++ {
			in := g.Nodes[k].Scope
			for in >= 0 && in != i {
				in = g.Scopes[in].Parent
			}
			if in != i {
				t.Fatalf("node %d is not in scope %d: %+v", k, i, g.Nodes[k])
			}
		}
	}
}

// shownAtFirst counts the nodes of the largest level of a graph, everything folded.
func shownAtFirst(g *graphAnswer) int {
	at := map[int]int{}
	for _, n := range g.Nodes {
		at[n.Scope]++
	}
	for _, s := range g.Scopes {
		at[s.Parent]++
	}
	most := 0
	for _, n := range at {
		most = max(most, n)
	}
	return most
}

func TestGraphFoldsRepeatedBlocks(t *testing.T) {
	// Twelve times the same five operations between two others.
	var b strings.Builder
	b.WriteString("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 8, 1, 64]> x) {\n" +
		"        tensor<fp16, [1, 8, 1, 64]> v0 = exp(x = x);\n")
	n := 0
	for range 12 {
		first := n
		for _, op := range []string{"relu(x = v%)", "tanh(x = v%)", "add(x = v%, y = v#)", "square(x = v%)",
			"sigmoid(x = v%)"} {
			arg := strings.NewReplacer("%", strconv.Itoa(n), "#", strconv.Itoa(first)).Replace(op)
			n++
			b.WriteString("        tensor<fp16, [1, 8, 1, 64]> v" + strconv.Itoa(n) + " = " + arg + ";\n")
		}
	}
	b.WriteString("    } -> (v" + strconv.Itoa(n) + ");\n}\n")
	path := filepath.Join(t.TempDir(), "m.mil")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, small, path)
	var g graphAnswer
	c.must("/api/view/"+c.compile(Config{Model: "m"}).Key+"/graph", nil, &g)
	checkGraph(t, &g)
	scope := func(name string, parent, first, count, index int) graphScope {
		return graphScope{Name: name, Parent: parent, First: first, Count: count, Repeat: 12, Index: index}
	}
	all, first := scope("12 blocks", -1, 2, 60, -1), scope("block 1 of 12", 0, 2, 5, 0)
	last := scope("block 12 of 12", 0, 57, 5, 11)
	if len(g.Nodes) != 63 || len(g.Scopes) != 13 || g.Scopes[0] != all || g.Scopes[1] != first || g.Scopes[12] != last {
		t.Errorf("%d nodes, scopes %+v", len(g.Nodes), g.Scopes)
	}
	if g.Nodes[1].Scope != -1 || g.Nodes[1].Statement < 0 || g.Nodes[62].Op != "output" {
		t.Errorf("%+v, %+v", g.Nodes[1], g.Nodes[62])
	}
}

// TestGraphOfLargeModelsIsBounded holds every level of the graphs of large models to what can be laid out at once.
func TestGraphOfLargeModelsIsBounded(t *testing.T) {
	corpus := filepath.Join(shareddir.Find(t), "corpus")
	c := newClient(t, Default, shareddir.WithWeights(t, filepath.Dir(corpus),
		filepath.Join(corpus, "parakeet-eou-encoder-1280ms")))
	model := c.s.models[0].Name
	var g graphAnswer
	c.must("/api/view/"+c.compile(Config{Model: model}).Key+"/graph", nil, &g)
	checkGraph(t, &g)
	if n := shownAtFirst(&g); len(g.Nodes) < 1100 || n > 2*maxTop {
		t.Errorf("%d nodes, %d at one level; scopes %+v", len(g.Nodes), n, g.Scopes)
	}
	t.Logf("%d nodes, %d scopes, %d at the largest level", len(g.Nodes), len(g.Scopes), shownAtFirst(&g))
	for _, s := range g.Scopes[:min(20, len(g.Scopes))] {
		t.Logf("%+v", s)
	}
}
