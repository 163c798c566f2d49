package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
	//go:embed charts.js
	charts string
)

// newPage parses the template. A program that writes no page does not, and need not contain templates.
func newPage() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"grouped": grouped, "short": micro, "count": short, "bytes": ShortBytes,
		"share": shareOf, "percent": Percent, "plural": diag.Count,
		"words": func(verdict string) string { return target.Verdict(verdict).Words() },
		"int64": func(n int) int64 { return int64(n) },
		"sum":   func(a, b int) int { return a + b },
		"less":  func(a, b cost.Time) cost.Time { return a - b },
	}).Parse(pageText))
}

// micro writes a time as the page does.
func micro(t cost.Time) string { return strings.Replace(t.Short(), "us", "µs", 1) }

// part is one use of the time of a call.
type part struct {
	Use, Label, Doc string
	Time            cost.Time
	Percent         float64
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
}

// pageSpan is a span of the timeline: track, start and length in nanoseconds, operation or -1, name where there is no
// operation.
type pageSpan [5]any

// Drawing is what charts.js draws of a report. The keys are short because there are thousands.
type Drawing struct {
	Ops    []pageOp          `json:"ops"`
	Spans  []pageSpan        `json:"spans"`
	Tracks []pageTrack       `json:"tracks"`
	Held   [][4]int64        `json:"held"` // start, length in nanoseconds, bytes of L2 that a task uses, operation
	L2     int64             `json:"l2"`   // its size
	Roof   *compile.Roof     `json:"roof"`
	Other  []pageRest        `json:"other"` // time of no operation
	Names  map[string]string `json:"names"` // of the parts of a call's time
	Total  int64             `json:"total"`
	Many   bool              `json:"many"` // functions
}

// pageTrack is a row of the timeline; Use is the part of the time that its spans are, "" if operations decide.
type pageTrack struct {
	Name string `json:"name"`
	Use  string `json:"use,omitempty"`
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
	Data    *Drawing
	Error   string
	AsFP16  string
	Total   cost.Time
	Parts   []part
	Advised []Advice
	More    int // further advice
	Largest []Cost
	Shapes  string // of flexible inputs
	Saved   *savedWeights
	Weighed []Weighed
	Kinds   []Kind
	Groups  []Cause
	Each    []*compile.Report // functions
	Stages  []cost.Stage
	Others  *GenerationTable // the model on each generation
}

// uses divides the time of a call, in the order of Parts.
func uses(r *compile.Report) []part {
	total := r.CallTime()
	times := map[string]cost.Time{}
	for _, p := range r.CallParts() {
		times[p.Use] = p.Time
	}
	var parts []part
	for _, p := range Parts {
		if t := times[p.Use]; t > 0 {
			parts = append(parts, part{Use: p.Use, Label: p.Name, Doc: p.Doc, Time: t,
				Percent: 100 * float64(t) / float64(total)})
		}
	}
	return parts
}

// Drawn returns what charts of a report show.
func Drawn(r *compile.Report) *Drawing {
	s := &Drawing{
		Total: int64(r.CallTime()),
		Many:  len(r.Functions) > 1,
		Ops:   []pageOp{},
		Spans: []pageSpan{},
		Held:  [][4]int64{},
		Other: []pageRest{},
		Names: map[string]string{},
	}
	for _, p := range Parts {
		s.Names[p.Use] = p.Name
	}
	for t := range Track(Tracks) {
		s.Tracks = append(s.Tracks, pageTrack{t.String(), trackUses[t]})
	}
	if tab, err := target.Lookup(r.Target); err == nil && r.Estimate != nil {
		s.L2, s.Roof = tab.L2Bytes, r.Estimate.Roof
	}
	at := cost.Time(0)
	for _, f := range r.Each() {
		s.draw(f, at)
		at += f.CallTime()
	}
	if e := r.Estimate; e != nil {
		for _, x := range []pageRest{
			{partNamed(useDispatch).Name, useDispatch, int64(e.Terms[cost.Dispatch])},
			{partNamed(useHand).Name, useHand, int64(e.Terms[cost.Hand])},
		} {
			if x.Time > 0 {
				s.Other = append(s.Other, x)
			}
		}
	}
	return s
}

// draw adds a function, whose call begins at a time.
func (s *Drawing) draw(f *compile.Report, at cost.Time) {
	first := len(s.Ops)
	for i := range f.Ops {
		s.Ops = append(s.Ops, drawnOp(f, i, s.Many))
	}
	for _, x := range Timeline(f) {
		op, name := -1, x.Name
		if x.Op >= 0 {
			op, name = first+x.Op, ""
		}
		s.Spans = append(s.Spans, pageSpan{int(x.Track), int64(at + x.Start), int64(x.Time), op, name})
		if x.Track == TrackEngine && x.L2 > 0 {
			s.Held = append(s.Held, [4]int64{int64(at + x.Start), int64(x.Time), x.L2, int64(op)})
		}
	}
}

// drawnOp is operation i of a function.
func drawnOp(f *compile.Report, i int, many bool) pageOp {
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
	return p
}

// Weighed is the weights that the model stores in one form and the engine reads in one way.
type Weighed struct {
	Form   string `json:"form"` // how the model stores them
	Why    string `json:"why"`  // how the engine reads them
	Count  int    `json:"count,omitempty"`
	Stored int64  `json:"stored_bytes"` // in the model
	Read   int64  `json:"read_bytes"`   // by tasks, in a call
}

// Weigh adds up the weights that tasks read, if the model stores some compressed: those in the order of the model, and
// last the others.
func Weigh(r *compile.Report) []Weighed {
	if r.Estimate == nil {
		return nil
	}
	var rows []Weighed
	dense := r.Estimate.DenseBytes
	for _, c := range r.Compressed {
		if c.Streamed == 0 {
			continue
		}
		if !c.Streams {
			dense -= c.Streamed
		}
		i := slices.IndexFunc(rows, func(w Weighed) bool { return w.Form == c.Form && w.Why == c.Why })
		if i < 0 {
			i, rows = len(rows), append(rows, Weighed{Form: c.Form, Why: c.Why})
		}
		rows[i].Count++
		rows[i].Stored += c.Stored
		rows[i].Read += c.Streamed
	}
	if len(rows) > 0 && dense > 0 {
		rows = append(rows, Weighed{
			Form: "numbers", Why: "dense: the model stores them so", Stored: dense, Read: dense,
		})
	}
	return rows
}

func writeHTML(w io.Writer, d *Document) error {
	script := strings.ReplaceAll(charts, "\nexport ", "\n") + pageScript
	digest := sha256.Sum256([]byte(script))
	p := pageData{
		Document: d,
		Name:     d.Title(),
		Style:    template.CSS(partColors + pageStyle),
		Script:   template.JS(script),
		Policy:   "sha256-" + base64.StdEncoding.EncodeToString(digest[:]),
		Data:     Drawn(d.Report),
		Error:    cost.Error(d.Report.Target),
		AsFP16:   asFP16(d.Report),
		Total:    d.Report.CallTime(),
		Parts:    uses(d.Report),
		Advised:  d.Advice[:min(len(d.Advice), answerAdvice)],
		More:     max(0, len(d.Advice)-answerAdvice),
		Largest:  Largest(d.Report),
		Shapes:   Shapes(d.Report),
		Saved:    weightsOf(d.Report),
		Weighed:  Weigh(d.Report),
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
