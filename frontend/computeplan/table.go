package computeplan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// splitRow splits a row at its separator, outside quotes, and trims blanks and quotes from its cells.
func splitRow(line string, separator byte) (cells []string) {
	quoted, start := false, 0
	for i := 0; i <= len(line); i++ {
		if i < len(line) && line[i] == '"' {
			quoted = !quoted
		}
		if i == len(line) || line[i] == separator && !quoted {
			cells = append(cells, strings.Trim(line[start:i], " \t\r\n\""))
			start = i + 1
		}
	}
	return cells
}

// A tableHeader is where the columns of a table are, -1 for one that is missing.
type tableHeader struct {
	columns [numFields]int
	count   int  // number of columns
	percent bool // weights are in per cent

	backends, estimates, reasons []int // columns of the analytics' table, by number
}

// parseHeader returns the columns that a first row names. ok is false if it does not name an operator or an output, and
// a device.
func parseHeader(cells []string) (h tableHeader, ok bool) {
	h.count = len(cells)
	var rank [numFields]int
	for i := range h.columns {
		h.columns[i] = -1
	}
	for i, c := range cells {
		key := foldKey(c)
		for _, k := range fieldKeys[key] {
			if h.columns[k.field] < 0 || k.rank < rank[k.field] {
				h.columns[k.field], rank[k.field] = i, k.rank
				if k.field == fieldWeight {
					h.percent = strings.HasSuffix(key, "percent")
				}
			}
		}
		for _, list := range []struct {
			prefix string
			to     *[]int
		}{{"backend", &h.backends}, {"esttime", &h.estimates}, {"invalid", &h.reasons}} {
			number, isList := strings.CutPrefix(key, list.prefix)
			if n, err := strconv.Atoi(number); isList && err == nil && n == len(*list.to) {
				*list.to = append(*list.to, i)
			}
		}
	}
	named := h.columns[fieldKind] >= 0 || h.columns[fieldTypeName] >= 0 || h.columns[fieldOutputs] >= 0
	return h, named && (h.columns[fieldPreferred] >= 0 || h.columns[fieldBackend] >= 0)
}

// cell returns a column's cell, "" if it is missing.
func (h *tableHeader) cell(cells []string, f field) string {
	if i := h.columns[f]; i >= 0 && i < len(cells) {
		return cells[i]
	}
	return ""
}

// studyHeader is the order of the columns of a table without a header.
var studyHeader = func() tableHeader {
	h, _ := parseHeader([]string{"model", "index", "kind", "output", "preferred", "supported", "weight"})
	return h
}()

// readTable reads a table with a header, or one with the columns of studyHeader, whose rows of errors have a word
// instead of an operator and no devices.
func readTable(file, src string, separator byte) (*Plan, error) {
	r := lineReader{file: file, plan: &Plan{Form: "table of operations"}}
	h, study := studyHeader, true
	model := ""
	for line := range strings.Lines(src) {
		r.number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		cells := splitRow(line, separator)
		if head, ok := parseHeader(cells); ok && len(r.plan.Operations) == 0 && study {
			h, study = head, false
			if len(h.backends) > 0 {
				r.plan.Form = "table of the analytics"
				r.backends = make([]string, len(h.backends))
			}
			continue
		}
		if study && len(cells) < h.count {
			continue
		}
		if study && model != "" && cells[0] != model {
			return nil, r.errorf("the dump has several models", quoted(model)+" and "+quoted(cells[0]),
				"keep the rows of one")
		}
		if study {
			model = cells[0]
		}
		if err := r.row(&h, cells); err != nil {
			return nil, err
		}
	}
	r.nameReasons()
	return r.plan, r.plan.finish(file)
}

// nameReasons gives the reasons, which have numbers of columns, the names that other rows have there.
func (r *lineReader) nameReasons() {
	for i := range r.plan.Operations {
		for k := range r.plan.Operations[i].Reasons {
			reason := &r.plan.Operations[i].Reasons[k]
			column, _ := strconv.Atoi(reason.Backend)
			reason.Backend = cmp.Or(r.backends[column], "backend_"+reason.Backend)
		}
	}
}

// row adds the operation of a row.
func (r *lineReader) row(h *tableHeader, cells []string) error {
	o := Operation{Function: h.cell(cells, fieldFunction)}
	kind := h.cell(cells, fieldKind)
	if kind == "" {
		kind = h.cell(cells, fieldTypeName)
	}
	o.Opset, o.Kind = splitKind(kind)
	for name := range strings.SplitSeq(h.cell(cells, fieldOutputs), ",") {
		if name = strings.TrimSpace(name); name != "" && name != "-" {
			o.Outputs = append(o.Outputs, name)
		}
	}
	preferred := cmp.Or(h.cell(cells, fieldPreferred), h.cell(cells, fieldBackend))
	supported := h.cell(cells, fieldSupported)
	if len(h.backends) > 0 {
		o.Backend = h.cell(cells, fieldBackend)
		var err error
		if supported, err = r.analytics(h, cells, &o); err != nil {
			return err
		}
	}
	return r.add(o, preferred, supported, h.cell(cells, fieldWeight), h.percent)
}

// analytics reads the backends, the estimates and the reasons of a row, and returns the supported backends. A reason
// may have commas, which separate cells too.
func (r *lineReader) analytics(h *tableHeader, cells []string, o *Operation) (string, error) {
	n := len(h.backends)
	if len(h.estimates) != n {
		return "", r.errorf("want as many columns of estimates as of backends",
			fmt.Sprintf("%d and %d", len(h.estimates), n), "")
	}
	last := max(slices.Max(h.backends), slices.Max(h.estimates))
	if len(cells) <= last {
		return "", r.errorf(fmt.Sprintf("want %d columns", h.count), strconv.Itoa(len(cells)), "")
	}
	var supported []string
	for i := range n {
		name, text := cells[h.backends[i]], cells[h.estimates[i]]
		if name == "" {
			continue
		}
		r.backends[i] = cmp.Or(r.backends[i], name)
		supported = append(supported, name)
		if text == "" {
			continue
		}
		ms, ok := parseMs(text)
		if !ok {
			return "", r.errorf("want an estimate in ms, at least 0", quoted(text), "")
		}
		o.Estimates = append(o.Estimates, Estimate{name, ms})
	}
	if len(h.reasons) == n && h.reasons[0] < len(cells) {
		r.reasons(h, cells, o)
	}
	return strings.Join(supported, ","), nil
}

// reasons reads why backends refused an operation. The cells of the others are empty, which shows where a reason with
// commas ends.
func (r *lineReader) reasons(h *tableHeader, cells []string, o *Operation) {
	end := len(cells)
	at := h.reasons[0]
	extra := max(0, end-h.count)
	for i := range h.reasons {
		if at >= end {
			return
		}
		if cells[h.backends[i]] != "" {
			at++
			continue
		}
		begin := at
		at++
		for next := i + 1; extra > 0 && at < end; extra-- {
			if next < len(h.reasons) && cells[h.backends[next]] != "" && cells[at] == "" {
				break
			}
			at++
		}
		text := strings.Join(cells[begin:at], ", ")
		if text != "" {
			o.Reasons = append(o.Reasons, Reason{strconv.Itoa(i), text})
		}
	}
}
