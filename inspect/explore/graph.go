package explore

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// graphAnswer is the graph of a function of the model: the answer to GET graph. Nodes are in the order of the program,
// and so are edges: each leads from an earlier node to a later one.
type graphAnswer struct {
	Func      string       `json:"function"`
	Functions []string     `json:"functions"`
	Nodes     []graphNode  `json:"nodes"`
	Edges     [][2]int     `json:"edges"`
	Scopes    []graphScope `json:"scopes"`
	// Omitted counts the operations past the limit.
	Omitted int `json:"omitted,omitempty"`
}

// graphNode is an operation, an input or an output.
type graphNode struct {
	Op        string `json:"op"` // "input" and "output" for those
	Name      string `json:"name"`
	Type      string `json:"type"`      // of the first result
	Statement int    `json:"statement"` // -1 for none
	Scope     int    `json:"scope"`     // -1 for the top
}

// graphScope is a sequence of operations that can be folded into one node: a block that the program repeats with all
// its iterations, one iteration, or a part of a long sequence.
type graphScope struct {
	Name   string `json:"name"`
	Parent int    `json:"parent"` // -1 for the top
	First  int    `json:"first"`  // node
	Count  int    `json:"count"`  // of nodes
	Repeat int    `json:"repeat"` // iterations of the block, 1 for a part of a sequence
	Index  int    `json:"index"`  // of the iteration, -1 for the scope of all
}

// leastLabel is the size in bytes of a constant above which its name says what a scope is for.
const leastLabel = 256

// maxNodes is the maximum number of nodes of a graph.
const maxNodes = 20_000

// graphView answers with the graph of the source, which is read again: it belongs to no pass.
func graphView(s *Server, v *view, r *http.Request) (any, error) {
	if v.list != nil && v.list.HasErrors() {
		return nil, &requestError{http.StatusConflict, errFailed}
	}
	fn := r.URL.Query().Get("function")
	return s.job(r, v, "reading", func(ctx context.Context) (any, error) { return v.graph(ctx, fn) })
}

func (v *view) graph(ctx context.Context, fn string) (*graphAnswer, error) {
	opened, err := v.model.open(v.config.Text)
	if err != nil {
		return nil, &requestError{http.StatusConflict, errFailed}
	}
	defer opened.Close()
	g := &graphAnswer{Func: fn, Functions: []string{}, Nodes: []graphNode{}, Edges: [][2]int{}}
	var f *ir.Func
	for _, x := range opened.Program.Funcs {
		g.Functions = append(g.Functions, x.Name)
		if f == nil && (fn == "" && (v.config.Func == "" || v.config.Func == x.Name) || x.Name == fn) {
			f, g.Func = x, x.Name
		}
	}
	if f == nil {
		return nil, bad("function is %q, want one of %s", cut(fn), strings.Join(g.Functions, ", "))
	}
	labels := g.fill(f, v.statementIndex())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	g.Scopes = scopesOf(g, labels)
	return g, nil
}

// statementIndex finds statements that are not constants by function and name.
func (v *view) statementIndex() func(fn, name string) int {
	type key struct{ fn, name string }
	index := map[key]int{}
	for i := range v.statements {
		if s := &v.statements[i]; s.Op != ir.StmtConst && s.Op != ir.StmtFunc {
			index[key{s.Func, s.Name}] = i
		}
	}
	return func(fn, name string) int {
		if i, ok := index[key{fn, name}]; ok {
			return i
		}
		return -1
	}
}

// fill adds the nodes and edges of a function's body and returns, for each node, the name of the largest constant that
// the operation reads. Operations that unpack constants are not nodes; an operation with blocks is one node that reads
// what its blocks read.
func (g *graphAnswer) fill(f *ir.Func, statement func(fn, name string) int) []string {
	at := map[*ir.Value]int{}
	var labels []string
	node := func(n graphNode, label string) int {
		n.Scope = -1
		g.Nodes = append(g.Nodes, n)
		labels = append(labels, label)
		return len(g.Nodes) - 1
	}
	for _, p := range f.Body.Params {
		at[p] = node(graphNode{Op: "input", Name: p.Name, Type: p.Type.String(), Statement: statement(f.Name, p.Name)},
			"")
	}
	for _, op := range f.Body.Ops {
		if ir.IsConstexpr(op) {
			continue
		}
		if len(g.Nodes) >= maxNodes {
			g.Omitted++
			continue
		}
		n := graphNode{Op: op.Def.Name, Statement: -1}
		if len(op.Results) > 0 {
			n.Name, n.Type = op.Results[0].Name, op.Results[0].Type.String()
			n.Statement = statement(f.Name, n.Name)
		}
		label, bytes := "", int64(leastLabel)
		var from []int
		op.Reads(func(x *ir.Value) {
			if k, ok := at[x]; ok && !slices.Contains(from, k) {
				from = append(from, k)
			}
		})
		op.Operands(func(_ *ir.Param, x *ir.Value) {
			if c := constantOf(x); c != "" && x.Type.Bytes() > bytes {
				label, bytes = c, x.Type.Bytes()
			}
		})
		i := node(n, label)
		for _, k := range from {
			g.Edges = append(g.Edges, [2]int{k, i})
		}
		for _, x := range op.Results {
			at[x] = i
		}
	}
	for _, x := range f.Body.Outputs {
		i := node(graphNode{Op: "output", Name: x.Name, Type: x.Type.String(), Statement: -1}, "")
		if k, ok := at[x]; ok {
			g.Edges = append(g.Edges, [2]int{k, i})
		}
	}
	return labels
}

// constantOf returns the name of a constant operand, also of one that is stored compressed; "" for others.
func constantOf(x *ir.Value) string {
	if x.IsConst() || x.Def != nil && ir.IsConstexpr(x.Def) {
		return x.Name
	}
	return ""
}
