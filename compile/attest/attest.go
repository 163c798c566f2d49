package attest

import (
	_ "embed"
	"strings"
	"sync"
)

// table has a line for each attested kind: the kind, a tab, the recorded cases.
//
//go:embed attested.txt
var table string

var kinds = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(table) {
		if kind, cases, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			m[kind] = strings.Fields(cases)
		}
	}
	return m
})

// Cases returns the recorded cases that vouch for tasks of a kind, none when the
// kind is unattested.
func Cases(kind string) []string { return kinds()[kind] }
