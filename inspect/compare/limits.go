package compare

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/zinc-compiler/zinc/target"
)

// limits compares the targets of the two sides: every column of their tables.
func (p *pairing) limits() ([]*Change, error) {
	if p.a.target == p.b.target {
		return nil, nil
	}
	d := attributes(columns(p.a.target), columns(p.b.target))
	for i, x := range d {
		name, _, _ := strings.Cut(x, ":")
		if f, ok := reflect.TypeFor[target.Table]().FieldByName(name); ok {
			d[i] = x + " (" + f.Tag.Get("doc") + ")"
		}
	}
	if len(d) > 0 {
		return []*Change{{Level: Limits, Kind: Changed, Subject: "limits of " + p.b.target.Name +
			" compared with those of " +
			p.a.target.Name, Details: d, names: []string{setting("target")}}}, nil
	}
	return nil, nil
}

// columns lists a target's table by the names of its columns.
func columns(t *target.Table) (out []attribute) {
	v := reflect.ValueOf(*t)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Name" {
			out = append(out, attribute{name, fmt.Sprint(v.Field(i).Interface())})
		}
	}
	return out
}
