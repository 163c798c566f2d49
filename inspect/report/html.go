package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// newPage parses the template. A program that writes no page does not, and need not contain templates.
func newPage() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"grouped": grouped, "short": micro, "count": short, "bytes": ShortBytes,
		"share": shareOf, "percent": Percent, "plural": diag.Count,
		"int64": func(n int) int64 { return int64(n) },
		"sum":   func(a, b int) int { return a + b },
		"less":  func(a, b cost.Time) cost.Time { return a - b },
	}).Parse(pageText))
}

// micro writes a time as the page does.
func micro(t cost.Time) string { return strings.Replace(t.Short(), "us", "µs", 1) }

// Uses of the time of a call, which the page has a color for each.
const (
	useDispatch = "dispatch"
	useHand     = "io"
	useCPU      = compile.UseCPU
)

// part is one use of the time of a call.
type part struct {
	Use, Label string
	Time       cost.Time
	Percent    float64
}

// pageOp is an operation as the page's script reads it. The keys are short because there are thousands.
type pageOp struct {
	Op       string `json:"o"`
	Name     string `json:"n"`
	Function string `json:"f,omitempty"`
	Type     string `json:"y,omitempty"`
	Scope    string `json:"s,omitempty"`
	Unit     string `json:"u"`
	Line     int32  `json:"l,omitempty"`
	Time     int64  `json:"t,omitempty"` // nanoseconds
	Bound    string `json:"b,omitempty"` // use of most of its time
	MACs     int64  `json:"m,omitempty"`
	DMA      int64  `json:"d,omitempty"`
	Weights  int64  `json:"w,omitempty"`
	Tasks    int    `json:"k,omitempty"`
	Why      string `json:"x,omitempty"`
	Verdict  string `json:"v,omitempty"`
	Reads    []int  `json:"r,omitempty"`
}

// pageSpan is a span of the timeline: track, start and length in nanoseconds, operation or -1, name where there is no
// operation.
type pageSpan [5]any

// script is what the page's script draws.
type script struct {
	Ops    []pageOp   `json:"ops"`
	Spans  []pageSpan `json:"spans"`
	Tracks []string   `json:"tracks"`
	Other  []pageRest `json:"other"` // time of no operation
	Total  int64      `json:"total"`
	Many   bool       `json:"many"` // functions
}

// pageRest is time of no operation.
type pageRest struct {
	Label string `json:"n"`
	Use   string `json:"b"`
	Time  int64  `json:"t"`
}

// pageData is what the page is made from.
type pageData struct {
	*Document
	Name    string
	Style   template.CSS
	Script  template.JS
	Policy  string // the digest of the script, which alone may run
	Data    script
	Error   string
	AsFP16  string
	Total   cost.Time
	Parts   []part
	Advised []Advice
	More    int // further advice
	Largest []Cost
	Shapes  string // of flexible inputs
	Saved   *savedWeights
	Kinds   []Kind
	Groups  []Cause
	Each    []*compile.Report // functions
	Stages  []cost.Stage
	Others  *GenerationTable // the model on each generation
}

// uses divides the time of a call, the largest part first.
func uses(r *compile.Report) []part {
	total := r.CallTime()
	var parts []part
	for _, p := range r.CallParts() {
		percent := 100 * float64(p.Time) / float64(total)
		parts = append(parts, part{Use: p.Use, Label: useNames[p.Use], Time: p.Time, Percent: percent})
	}
	return parts
}

// drawn is what the script draws of a report.
func drawn(r *compile.Report) script {
	s := script{
		Total:  int64(r.CallTime()),
		Tracks: trackNames[:],
		Many:   len(r.Functions) > 1,
		Ops:    []pageOp{},
		Spans:  []pageSpan{},
		Other:  []pageRest{},
	}
	at := cost.Time(0)
	for _, f := range r.Each() {
		first := len(s.Ops)
		for i := range f.Ops {
			s.Ops = append(s.Ops, drawnOp(f, i, first, s.Many))
		}
		for _, x := range Timeline(f) {
			op, name := -1, x.Name
			if x.Op >= 0 {
				op, name = first+x.Op, ""
			}
			s.Spans = append(s.Spans, pageSpan{int(x.Track), int64(at + x.Start), int64(x.Time), op, name})
		}
		at += f.CallTime()
	}
	if e := r.Estimate; e != nil {
		for _, x := range []pageRest{
			{"dispatch", useDispatch, int64(e.Terms[cost.Dispatch])},
			{"inputs and outputs", useHand, int64(e.Terms[cost.Hand])},
		} {
			if x.Time > 0 {
				s.Other = append(s.Other, x)
			}
		}
	}
	return s
}

// drawnOp is operation i of a function whose first operation has the number first.
func drawnOp(f *compile.Report, i, first int, many bool) pageOp {
	o := &f.Ops[i]
	p := pageOp{
		Op: o.Op, Name: o.Name, Type: o.Type, Scope: o.Scope, Unit: o.Unit, Line: o.Line, Time: int64(o.Time()),
		MACs: o.MACs, Weights: o.Weights, Tasks: o.Tasks, Why: o.Reason,
	}
	if many {
		p.Function = f.Function
	}
	switch {
	case o.Estimate != nil:
		p.Bound, p.DMA = o.Estimate.Bound, o.Estimate.DMABytes
	case o.Unit == ir.CPU.String():
		p.Bound = useCPU
	}
	if o.Fused != "" {
		p.Why = "fused into " + o.Fused
	}
	if o.Refusal != nil {
		p.Verdict = string(o.Refusal.Verdict)
	}
	for _, from := range o.Reads {
		if from >= 0 && from < len(f.Ops) {
			p.Reads = append(p.Reads, first+from)
		}
	}
	return p
}

func writeHTML(w io.Writer, d *Document) error {
	digest := sha256.Sum256([]byte(pageScript))
	p := pageData{
		Document: d,
		Name:     d.Title(),
		Style:    template.CSS(pageStyle),
		Script:   template.JS(pageScript),
		Policy:   "sha256-" + base64.StdEncoding.EncodeToString(digest[:]),
		Data:     drawn(d.Report),
		Error:    cost.Error(d.Report.Target),
		AsFP16:   asFP16(d.Report),
		Total:    d.Report.CallTime(),
		Parts:    uses(d.Report),
		Advised:  d.Advice[:min(len(d.Advice), answerAdvice)],
		More:     max(0, len(d.Advice)-answerAdvice),
		Largest:  Largest(d.Report),
		Shapes:   Shapes(d.Report),
		Saved:    weightsOf(d.Report),
		Kinds:    Kinds(d.Report),
		Groups:   Causes(d.Report),
		Each:     d.Report.Each(),
		Others:   Table(d.Generations),
	}
	if e := d.Report.Estimate; e != nil {
		p.Stages = e.Stages
	}
	var b bytes.Buffer
	if err := newPage().Execute(&b, &p); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// ShortBytes returns a number of bytes with a decimal prefix and three digits at most.
func ShortBytes(n int64) string {
	s := short(n)
	if n < 1000 {
		s += " "
	}
	return s + "B"
}
