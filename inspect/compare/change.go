package compare

// Level is a representation of a model in which two sides are compared.
type Level string

// The levels, from the user's text to the results of a run.
const (
	Settings  Level = "settings"
	MIL       Level = "mil"
	Constants Level = "constants"
	Passes    Level = "passes"
	IR        Level = "ir"
	Limits    Level = "limits"
	Placement Level = "placement"
	Cost      Level = "cost"
	Tasks     Level = "tasks"
	Container Level = "container"
	Chain     Level = "chain"
	Outputs   Level = "outputs"
	// Together lists, as effects, the differences that no single change explains.
	Together Level = "together"
)

// LevelInfo is a row of Levels.
type LevelInfo struct {
	Level Level
	Doc   string
	// missing returns why a side is not compared at the level, or "".
	missing func(s *Side) string
	compare func(p *pairing) ([]*Change, error)
}

// Levels lists the levels in the order in which they are compared. A run is requested with Options.Outputs.
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
	{Level: Cost, Doc: "the estimated time of each operation", missing: needsEstimate, compare: (*pairing).cost},
	{Level: Tasks, Doc: "tasks and their words, by field", missing: needsPair, compare: (*pairing).tasks},
	{Level: Container, Doc: "segments, ports, tensors, procedures, symbols", missing: needsPair, compare: (*pairing).
		container},
	{Level: Chain, Doc: "operands and operations of the descriptor", missing: needsChain, compare: (*pairing).chain},
}

// LevelNames returns the names of all levels except Outputs.
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
	Level   Level    `json:"level"`             // level of the difference
	Kind    Kind     `json:"kind"`              // added, removed, changed or moved
	Subject string   `json:"subject"`           // what differs
	A       string   `json:"a,omitempty"`       // its place on side A, file:line:col
	B       string   `json:"b,omitempty"`       // its place on side B, file:line:col
	Pass    string   `json:"pass,omitempty"`    // at level Passes, the first after which the sides differ
	Details []string `json:"details,omitempty"` // values on both sides, one a line
	// Effects are the differences at lower levels that this change caused.
	Effects []*Change `json:"effects,omitempty"`

	cause bool
	edit  edit
	// names are the statements of either side that the change concerns: for a cause those that changed, for an effect
	// those it came from.
	names []string
}

// newChange returns a change that came from statements.
func newChange(l Level, k Kind, subject string, names []string, details ...string) *Change {
	return &Change{Level: l, Kind: k, Subject: subject, Details: details, names: names}
}

// Coverage says whether a level was compared.
type Coverage struct {
	Level       Level  `json:"level"`             // name of the level
	Differences int    `json:"differences"`       // differences at the level
	Missing     string `json:"missing,omitempty"` // why it was not compared
	Note        string `json:"note,omitempty"`    // how it was compared, if less precisely than usual
}

// Result is a comparison.
type Result struct {
	A       Summary    `json:"a"`              // first side
	B       Summary    `json:"b"`              // second side
	Same    bool       `json:"same"`           // no difference was found
	Cost    []Figure   `json:"cost,omitempty"` // of a call, of two models
	Levels  []Coverage `json:"levels"`         // levels, from the model to the bytes
	Changes []*Change  `json:"changes"`        // differences that no other change caused
}
