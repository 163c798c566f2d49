package decoder

import (
	"fmt"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// Load is the class of the first load of a model, which compiles it.
type Load struct {
	Class    string `json:"class"`          // name of a class
	Segments int    `json:"segments"`       // of engine and CPU, that are compiled one by one
	Tasks    int    `json:"tasks"`          // of the engine
	Largest  int    `json:"largest_tasks"`  // of the segment with the most
	Means    string `json:"means"`          // what is known of models of the class
	Source   string `json:"source"`         // of the figures
	Caveat   string `json:"caveat"`         // how they were carried over
	Advice   string `json:"what,omitempty"` // what helps
}

// class is a class of first loads: from a number of tasks in one segment, or in all, on.
type class struct {
	name           string
	largest, tasks int
	means, do      string
}

// study is the public study of the engines of M4 and M6 from which the figures are.
const study = "751K/Apple-Neural-Engine-Microarchitecture-Study-M6, section on defects (M4, M6, macOS 27)"

// What is reported of models of a class.
const (
	swapped    = "a model of 15,849 operations took 20 minutes and 78 GB of swap files"
	overflowed = "chains of more than 386 layers overflowed the compiler (M6), and 512 elementwise ones took 179 s"
	unreported = "no report of a long or failed compilation is of so few tasks in one segment"
)

// classes are the classes, the longest first.
var classes = []class{
	{name: "may fail", tasks: 15849, means: swapped, do: "cut it with zinc split, and load part after part"},
	{name: "minutes", largest: 387, means: overflowed, do: "cut it with zinc split"},
	{name: "seconds", means: unreported},
}

// caveat says how the figures were carried over.
const caveat = "modelled: the figures are of layers and operations of other models, compared with zinc's tasks"

// load returns the class of a program.
func load(r *compile.Report) Load {
	l := Load{Segments: r.Dispatches + r.CPUCalls, Tasks: r.Tasks, Source: study, Caveat: caveat}
	for i := range r.DispatchList {
		l.Largest = max(l.Largest, r.DispatchList[i].Tasks)
	}
	for _, c := range classes {
		if c.largest > 0 && l.Largest >= c.largest || c.tasks > 0 && l.Tasks >= c.tasks || c.largest+c.tasks == 0 {
			l.Class, l.Means, l.Advice = c.name, c.means, c.do
			break
		}
	}
	return l
}

// String says what the class goes by.
func (l *Load) String() string {
	return fmt.Sprintf("%s: %s, %s, at most %d in one", l.Class, diag.Count(l.Segments, "segment", "segments"),
		diag.Count(l.Tasks, "task", "tasks"), l.Largest)
}
