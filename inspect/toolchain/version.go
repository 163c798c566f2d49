package toolchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Version is what an executable says of itself, the document of `zinc version --json`.
type Version struct {
	Version  string   `json:"version"`            // as "0.1.0"
	Revision string   `json:"revision,omitempty"` // of the source, twelve digits, "" where the build does not know it
	Modified bool     `json:"modified,omitempty"` // the source differs from the revision
	Module   string   `json:"module,omitempty"`   // version of the module, as `go install` takes it
	Go       string   `json:"go"`                 // the version of Go that built it
	Platform string   `json:"platform"`           // as "linux/amd64"
	Targets  []string `json:"targets"`            // those that it writes programs for
	Passes   []string `json:"passes,omitempty"`   // in order; nil of an executable that does not tell
	Flags    []string `json:"flags,omitempty"`    // of compiling, by their long names; nil of one that does not tell
}

// String is the version in one line, as "0.1.0 1f2e3d4c5b6a modified".
func (v *Version) String() string {
	s := v.Version
	if v.Revision != "" {
		s += " " + v.Revision
	}
	if v.Modified {
		s += " modified"
	}
	return s
}

// Text is what `zinc version` prints.
func (v *Version) Text() string {
	s := fmt.Sprintf("zinc %s, %s %s\ntargets: %s\n", v, v.Go, v.Platform, strings.Join(v.Targets, ", "))
	if v.Module != "" {
		s += "module: " + v.Module + "\n"
	}
	return s
}

// spelledVersion is the first line of Version.Text.
var spelledVersion = regexp.MustCompile(`^zinc ([^ ,]+)(?: ([0-9a-f]{7,40}))?( modified)?, (\S+) (\S+)$`)

// maxNames bounds the targets, the passes and the flags that an executable may list, and
// maxName the bytes of each and of every other word.
const (
	maxNames = 1024
	maxName  = 128
)

// parseVersion reads either form of what `zinc version` prints.
func parseVersion(out string) (v Version, err error) {
	if strings.HasPrefix(strings.TrimSpace(out), "{") {
		err = json.Unmarshal([]byte(out), &v)
	} else {
		first, rest, _ := strings.Cut(out, "\n")
		m := spelledVersion.FindStringSubmatch(strings.TrimRight(first, "\r"))
		if m == nil {
			return v, errors.New("the answer has not the form of zinc's")
		}
		v = Version{Version: m[1], Revision: m[2], Modified: m[3] != "", Go: m[4], Platform: m[5]}
		line, _, _ := strings.Cut(rest, "\n")
		if names, ok := strings.CutPrefix(strings.TrimRight(line, "\r"), "targets: "); ok {
			v.Targets = strings.Split(names, ", ")
		}
	}
	if err != nil {
		return v, err
	}
	if v.Version == "" {
		return v, errors.New("the answer names no version")
	}
	if len(v.Targets) > maxNames || len(v.Passes) > maxNames || len(v.Flags) > maxNames {
		return v, fmt.Errorf("the answer lists %d targets, %d passes and %d flags, the limit is %d of each",
			len(v.Targets), len(v.Passes), len(v.Flags), maxNames)
	}
	words := []string{v.Version, v.Revision, v.Module, v.Go, v.Platform}
	for _, s := range slices.Concat(words, v.Targets, v.Passes, v.Flags) {
		if len(s) > maxName || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return v, fmt.Errorf("the answer has %.40q where a short name is wanted", s)
		}
	}
	return v, nil
}
