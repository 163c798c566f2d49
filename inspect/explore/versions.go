package explore

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/target"
)

// Version is another zinc that compiles on request.
type Version struct {
	Name       string // by which requests choose it
	Executable *toolchain.Executable
}

// thisVersion is the name of the running zinc, which is always available.
const thisVersion = "this"

// maxVersionName bounds a version's name.
const maxVersionName = 64

// CheckVersions refuses ambiguous names.
func CheckVersions(vs []Version) error {
	for i, v := range vs {
		switch {
		case v.Name == "" || len(v.Name) > maxVersionName || strings.ContainsFunc(v.Name, func(r rune) bool {
			return !unicode.IsPrint(r) || r == unicode.ReplacementChar
		}):
			return fmt.Errorf("version name %q must have 1 to %d printable characters", cut(v.Name), maxVersionName)
		case v.Name == thisVersion:
			return fmt.Errorf("version name %q is reserved for the running zinc", v.Name)
		case v.Executable == nil:
			return fmt.Errorf("version %q has no executable", v.Name)
		case slices.ContainsFunc(vs[:i], func(o Version) bool { return o.Name == v.Name }):
			return fmt.Errorf("version name %q is used twice", v.Name)
		}
	}
	return nil
}

// versionInfo is a version that can be chosen.
type versionInfo struct {
	Name string `json:"name"`
	// Version is the number and revision that the executable reports.
	Version string   `json:"version"`
	Targets []string `json:"targets"` // those that it writes programs for
	Running bool     `json:"running,omitempty"`
}

// listVersions lists the versions, the one that runs first.
func (s *Server) listVersions() []versionInfo {
	out := []versionInfo{{Name: thisVersion, Version: compile.Version, Targets: target.Compiled(), Running: true}}
	for _, v := range s.versions {
		out = append(out, versionInfo{
			Name:    v.Name,
			Version: v.Executable.Version.String(),
			Targets: v.Executable.Version.Targets,
			Running: false,
		})
	}
	return out
}

// version returns the executable of a resolved configuration, nil for the zinc that
// runs.
func (s *Server) version(c *Config) *toolchain.Executable {
	for _, v := range s.versions {
		if v.Name == c.Version {
			return v.Executable
		}
	}
	return nil
}
