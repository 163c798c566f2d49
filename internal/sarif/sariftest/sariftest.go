// Package sariftest checks SARIF logs in tests.
//
// It takes the bytes of a log and returns an error where the log violates the SARIF
// standard. It knows only the part of the standard that zinc writes: a property that
// is not in its table is an error.
package sariftest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// object describes one object of the standard: each property with its type, and
// whether it is required.
type object map[string]prop

type prop struct {
	kind     string // string, integer, array, object, bag
	required bool
	of       string   // object of an object or of an array's elements
	among    []string // allowed values of a string
	least    int      // smallest value of an integer
}

// schema is the part of the standard's schema that zinc writes.
var schema = map[string]object{
	"log": {
		"$schema": {kind: "string"}, "version": {kind: "string", required: true, among: []string{"2.1.0"}},
		"runs": {kind: "array", required: true, of: "run"},
	},
	"run": {
		"tool": {kind: "object", required: true, of: "tool"}, "automationDetails": {kind: "object", of: "automation"},
		"columnKind": {kind: "string", among: []string{"utf16CodeUnits", "unicodeCodePoints"}},
		"results":    {kind: "array", of: "result"}, "properties": {kind: "bag"},
	},
	"automation": {"id": {kind: "string"}},
	"tool":       {"driver": {kind: "object", required: true, of: "driver"}},
	"driver": {
		"name": {kind: "string", required: true}, "version": {kind: "string"}, "informationUri": {kind: "string"},
		"rules": {kind: "array", of: "rule"},
	},
	"rule": {
		"id": {kind: "string", required: true}, "shortDescription": {kind: "object", of: "text"},
		"help": {kind: "object", of: "text"},
	},
	"text": {"text": {kind: "string", required: true}},
	"result": {
		"ruleId": {kind: "string"}, "ruleIndex": {kind: "integer"}, "message": {kind: "object", required: true,
			of: "text"},
		"level":     {kind: "string", among: []string{"none", "note", "warning", "error"}},
		"locations": {kind: "array", of: "location"}, "properties": {kind: "bag"},
	},
	"location": {
		"physicalLocation": {kind: "object", of: "physical"}, "logicalLocations": {kind: "array", of: "logical"},
	},
	"physical": {"artifactLocation": {kind: "object", required: true, of: "artifact"}, "region": {kind: "object",
		of: "region"}},
	"artifact": {"uri": {kind: "string"}},
	"region":   {"startLine": {kind: "integer", least: 1}, "startColumn": {kind: "integer", least: 1}},
	"logical":  {"name": {kind: "string"}, "kind": {kind: "string"}},
}

// Check returns an error if a log violates the standard: if a property is missing,
// unknown or of the wrong type, or an index is out of range.
func Check(b []byte) error {
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("sarif: %w", err)
	}
	if err := checkObject("log", "log", v); err != nil {
		return err
	}
	for _, r := range v["runs"].([]any) {
		if err := checkResults(r.(map[string]any)); err != nil {
			return err
		}
	}
	return nil
}

func checkObject(at, name string, v map[string]any) error {
	o := schema[name]
	for k, p := range o {
		if _, ok := v[k]; !ok && p.required {
			return fmt.Errorf("sarif: %s is missing %s", at, k)
		}
	}
	for k, x := range v {
		p, ok := o[k]
		if !ok {
			return fmt.Errorf("sarif: %s has the unknown property %s", at, k)
		}
		if err := p.check(at+"."+k, x); err != nil {
			return err
		}
	}
	return nil
}

func (p prop) check(at string, x any) error {
	wrong := fmt.Errorf("sarif: %s is %v, want %s", at, x, p.kind)
	switch p.kind {
	case "string":
		s, ok := x.(string)
		switch {
		case !ok:
			return wrong
		case s == "":
			return fmt.Errorf("sarif: %s is empty", at)
		case p.among != nil && !slices.Contains(p.among, s):
			return fmt.Errorf("sarif: %s is %q, want one of %s", at, s, strings.Join(p.among, ", "))
		}
	case "integer":
		n, ok := x.(float64)
		if !ok || n != float64(int(n)) || int(n) < p.least {
			return wrong
		}
	case "array":
		a, ok := x.([]any)
		if !ok {
			return wrong
		}
		for i, e := range a {
			m, ok := e.(map[string]any)
			if !ok {
				return wrong
			}
			if err := checkObject(fmt.Sprintf("%s[%d]", at, i), p.of, m); err != nil {
				return err
			}
		}
	default:
		m, ok := x.(map[string]any)
		if !ok {
			return wrong
		}
		if p.kind == "object" {
			return checkObject(at, p.of, m)
		}
	}
	return nil
}

// checkResults checks what the schema does not: the indices of rules, and URI
// references.
func checkResults(run map[string]any) error {
	driver := run["tool"].(map[string]any)["driver"].(map[string]any)
	rules, _ := driver["rules"].([]any)
	seen := map[any]bool{}
	for _, r := range rules {
		id := r.(map[string]any)["id"]
		if seen[id] {
			return fmt.Errorf("sarif: rule %v is repeated", id)
		}
		seen[id] = true
	}
	results, _ := run["results"].([]any)
	for i, r := range results {
		res := r.(map[string]any)
		if n, ok := res["ruleIndex"].(float64); ok {
			if int(n) >= len(rules) || n < 0 {
				return fmt.Errorf("sarif: result %d has rule index %v, want less than %d", i, n, len(rules))
			}
			if id := rules[int(n)].(map[string]any)["id"]; res["ruleId"] != id {
				return fmt.Errorf("sarif: result %d has rule %v, but the index of %v", i, res["ruleId"], id)
			}
		}
		locations, _ := res["locations"].([]any)
		for _, l := range locations {
			p, ok := l.(map[string]any)["physicalLocation"].(map[string]any)
			if !ok {
				continue
			}
			uri, _ := p["artifactLocation"].(map[string]any)["uri"].(string)
			if u, err := url.Parse(uri); err != nil || strings.ContainsAny(uri, ` \`) || u.String() != uri {
				return fmt.Errorf("sarif: result %d: %q is not a URI reference", i, uri)
			}
		}
	}
	return nil
}
