package attest

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

// tables have, by the version of task descriptors, a line for each attested kind: the kind, a tab, the recorded cases.
//
//go:embed attested*.txt
var tables embed.FS

var kinds = sync.OnceValue(func() map[int]map[string][]string {
	all := map[int]map[string][]string{}
	for _, version := range Versions {
		text, err := tables.ReadFile(File(version))
		if err != nil {
			panic(err) // the list of versions is wrong
		}
		m := map[string][]string{}
		for line := range strings.Lines(string(text)) {
			if kind, cases, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				m[kind] = strings.Fields(cases)
			}
		}
		all[version] = m
	}
	return all
})

// Versions are the versions of task descriptors that have a table.
var Versions = []int{7, 11, 8, 17, 19, 20, 24}

// File returns the name of a version's table, in the folder of this package.
func File(version int) string { return fmt.Sprintf("attested%d.txt", version) }

// Cases returns the recorded cases that vouch for tasks of a kind in a version of task descriptors, none when the kind
// is unattested.
func Cases(version int, kind string) []string { return kinds()[version][kind] }
