package compare

// Level is a form of a model in which two sides are compared.
type Level string

// Levels, from what a user writes to what runs.
const (
	Settings  Level = "settings"
	MIL       Level = "mil"
	Constants Level = "constants"
	Passes    Level = "passes"
	IR        Level = "ir"
	Limits    Level = "limits"
	Placement Level = "placement"
	Tasks     Level = "tasks"
	Container Level = "container"
	Chain     Level = "chain"
	Outputs   Level = "outputs"
	// Together holds as effects what no single one of several changes explains.
	Together Level = "together"
)

// LevelInfo is a row of Levels.
type LevelInfo struct {
	Level Level
	Doc   string
	// missing says why a side is not compared at the level, "" where it is.
	missing func(s *Side) string
	compare func(p *pairing) ([]*Change, error)
}

// Levels is the one list of levels, in the order in which they are compared. A run
// is requested with Options.Outputs.
var Levels = []LevelInfo{
	{Level: Settings, Doc: "compiler version, target and flags", missing: needsModel, compare: (*pairing).settings},
	{Level: MIL, Doc: "statements of the syntax tree: added, removed, changed, moved", missing: needsText,
		compare: (*pairing).statements},
	{Level: Constants, Doc: "values of the constants, and the bytes that they are packed into", missing: nothing,
		compare: (*pairing).constants},
	{Level: Passes, Doc: "the program after each pass, and the first pass after which the sides differ",
		missing: needsTrace, compare: (*pairing).passes},
	{Level: IR, Doc: "operations of the program after the passes", missing: needsPlaced, compare: (*pairing).programs},
	{Level: Limits, Doc: "the limits of the targets", missing: needsTarget, compare: (*pairing).limits},
	{Level: Placement, Doc: "what runs where, and why", missing: needsReport, compare: (*pairing).placement},
	{Level: Tasks, Doc: "tasks and their words, by field", missing: needsPair, compare: (*pairing).tasks},
	{Level: Container, Doc: "segments, ports, tensors, procedures, symbols", missing: needsPair, compare: (*pairing).
		container},
	{Level: Chain, Doc: "operands and operations of the descriptor", missing: needsChain, compare: (*pairing).chain},
}

// LevelNames returns the names of all levels but that of outputs.
func LevelNames() (out []string) {
	for _, l := range Levels {
		out = append(out, string(l.Level))
	}
	return out
}

// Kind is what happened to the subject of a change.
type Kind string

// Kinds of changes.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
	Moved   Kind = "moved"
)

// Change is one difference.
type Change struct {
	Level   Level    `json:"level"`
	Kind    Kind     `json:"kind"`
	Subject string   `json:"subject"`
	A       string   `json:"a,omitempty"` // its place on side A, file:line:col
	B       string   `json:"b,omitempty"`
	Pass    string   `json:"pass,omitempty"` // at the level of passes, the first after which the sides depart
	Details []string `json:"details,omitempty"`
	// Effects are the differences at lower levels that came from this one.
	Effects []*Change `json:"effects,omitempty"`

	cause bool
	edit  edit
	// names are the statements that it is about: of a cause those that changed, of
	// another what it came from, on either side.
	names []string
}

// Coverage says whether a level was compared.
type Coverage struct {
	Level       Level  `json:"level"`
	Differences int    `json:"differences"`
	Missing     string `json:"missing,omitempty"` // why it was not compared
	Note        string `json:"note,omitempty"`    // how it was compared, where that is less than usual
}

// Result is a comparison.
type Result struct {
	A       Summary    `json:"a"`
	B       Summary    `json:"b"`
	Same    bool       `json:"same"`
	Levels  []Coverage `json:"levels"`
	Changes []*Change  `json:"changes"`
}
