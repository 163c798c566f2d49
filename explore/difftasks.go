package explore

import (
	"fmt"

	"github.com/zinc-compiler/zinc/lower/td"
)

// positional are the fields that say where a task lies, not what it computes. A
// task that only moved is the same task.
var positional = func() map[string]bool {
	m := map[string]bool{}
	for _, f := range []td.Field{td.TID, td.LNID, td.EON, td.NextPointer, td.NextSize} {
		m[f.Row().Name] = true
	}
	return m
}()

// taskKey is what tasks of two compilations are paired by: the operation and rule
// that they came from, and which of the tasks of those it is.
type taskKey struct {
	op, rule string
	nth      int
}

func keyed(v *view) (keys []taskKey, index map[taskKey]int) {
	index = map[taskKey]int{}
	count := map[taskKey]int{}
	for i := range v.tasks {
		k := taskKey{op: v.tasks[i].Op, rule: v.tasks[i].Rule}
		count[k]++
		k.nth = count[k]
		keys = append(keys, k)
		index[k] = i
	}
	return keys, index
}

// diffTasks compares the tasks of two compilations, field by field.
func diffTasks(a, b *view) ([]diffRow, error) {
	ka, ia := keyed(a)
	kb, ib := keyed(b)
	var rows []diffRow
	for i, k := range ka {
		j, ok := ib[k]
		if !ok {
			rows = append(rows, diffRow{Op: "-", A: i + 1, Text: taskTitle(a, i)})
			continue
		}
		fa, err := a.fields(i)
		if err != nil {
			return nil, err
		}
		fb, err := b.fields(j)
		if err != nil {
			return nil, err
		}
		rows = append(rows, diffRow{Op: "=", A: i + 1, B: j + 1, Text: taskTitle(a, i)})
		rows = append(rows, diffFields(fa, fb)...)
	}
	for j, k := range kb {
		if _, ok := ia[k]; !ok {
			rows = append(rows, diffRow{Op: "+", B: j + 1, Text: taskTitle(b, j)})
		}
	}
	return rows, nil
}

func taskTitle(v *view, i int) string {
	t := &v.tasks[i]
	return fmt.Sprintf("task of %s by %s: %s", t.Op, t.Rule, t.Kind)
}

// fields returns the fields of a task that it is compared by.
func (v *view) fields(i int) ([]fieldView, error) {
	words, err := v.words(i)
	if err != nil {
		return nil, err
	}
	t, err := td.Decode(words)
	if err != nil {
		return nil, err
	}
	return fields(t), nil
}

// diffFields lists the fields in which two tasks differ.
func diffFields(a, b []fieldView) (rows []diffRow) {
	other := map[string]*fieldView{}
	for i := range b {
		other[b[i].Name] = &b[i]
	}
	row := func(op string, f *fieldView) {
		rows = append(rows, diffRow{Op: op, Text: fmt.Sprintf("    %s = %s", f.Name, f.Text)})
	}
	for i := range a {
		f := &a[i]
		o := other[f.Name]
		delete(other, f.Name)
		if positional[f.Name] || o != nil && o.Value == f.Value {
			continue
		}
		row("-", f)
		if o != nil {
			row("+", o)
		}
	}
	for i := range b {
		if f := &b[i]; other[f.Name] != nil && !positional[f.Name] {
			row("+", f)
		}
	}
	return rows
}
