package target

import (
	"reflect"
	"slices"
	"strings"
)

// Basis is how a number of a table is known.
type Basis struct {
	Grade  Grade  `json:"grade"`  // how well
	Source string `json:"source"` // from what
}

// basisRow says of columns, for targets, where their numbers come from.
type basisRow struct {
	columns, targets string // separated by spaces
	grade            Grade
	source           string
}

// Column is one column of a table.
type Column struct {
	Name, Doc string
	Value     any // a number, a text, a list of texts, or a Family
	Basis     Basis
}

// Columns returns the columns of a table in their order, the target's name first.
func (t *Table) Columns() (cs []Column) {
	v := reflect.ValueOf(*t)
	for f := range v.Type().Fields() {
		if f.IsExported() {
			doc, value := f.Tag.Get("doc"), v.FieldByIndex(f.Index).Interface()
			cs = append(cs, Column{Name: f.Name, Doc: doc, Value: value, Basis: t.BasisOf(f.Name)})
		}
	}
	return cs
}

// Sources of columns.
const (
	guideA     = "sbryngelson/ane-guide, appendix A: the vendor's own table of each target"
	guide24    = "sbryngelson/ane-guide, chapters 24 and 35: the vendor's own table of each target"
	guide3     = "sbryngelson/ane-guide, chapters 3 and 12"
	study      = "751K/Apple-Neural-Engine-Microarchitecture-Study-M6, measured on an M4 and an M6"
	studyHAL   = "751K/Apple-Neural-Engine-Microarchitecture-Study-M6, the vendor's own table of each target"
	studyWords = "751K/Apple-Neural-Engine-Microarchitecture-Study-M6, words and lists of the vendor's compiler"
	records    = "words that the vendor's compiler wrote (mil-hwx-compiler)"
	zincs      = "what zinc does"
	registers  = "width of the register's field, docs/registers.md"
	states     = "a published report, apple/coremltools issue 2631"
)

// generations are the targets that have a column in published tables.
const generations = "h13 h14 h15 h16 h17 h17s h18"

// variants are the targets of each generation with other cores, which the tables have too.
const variants = "h13g h14g h14c h15g h16g h16s h16c h17a h17g h17c h17d"

// basisRows is where numbers come from; of several rows for a column and a target the last holds.
var basisRows = []basisRow{
	{"Name Family", "h11 h12 " + generations + " " + variants, Decoded, guide24},
	{"Name Version Subtype", "h11 h12 " + generations + " h18g h19 " + variants, Decoded, studyHAL},
	{"Version Subtype", "h13 h14 h15 h16 h17 h18", Recorded, records},
	{"TD Base Programs Kinds FormsOf CostOf Lowers", everyTarget, Recorded, zincs},
	{"MaxKernelW MaxKernelH SmallKernelW SmallKernelH MaxPool", generations, Decoded, guideA},
	{"MaxRowKernel", "h13 h14", Decoded, guideA},
	{"MaxKernelH MaxRowKernel", "h16 h17 h17s h18", Inferred, "h16g, where Core ML's validator was measured"},
	{"MaxKernelH MaxRowKernel", "h16g h18g", Measured, study},
	{"HeaderBytes HeaderFetch", "h13 h14 h15 h16 h17 h18", Recorded, records},
	{"MaxWidth MaxHeight MaxChannels MaxRank ReduceTranspose", generations, Decoded, guideA},
	{"ReduceTranspose MaxWidth MaxHeight", generations + " h18g", Decoded, studyHAL},
	{"MaxStride MaxPad MaxGroups MaxSurfaces MaxTasks", "h13", Recorded, registers},
	{"MaxSurfaces", "h15 h16 h18g", Inferred, registers},
	{"L2Bytes L2Banks L2Granule KernelBytes KernelStream", generations, Decoded, guideA},
	{"L2Bytes L2Banks L2Granule KernelBytes KernelStream", "h18g", Decoded, studyHAL},
	{"Cores", "h11 h12 " + generations + " h18g h19", Decoded, studyHAL},
	{"Cores WorkUnit SmallImage StreamPixels SurfaceAlign", "h13", Recorded, records},
	{"Cores", "h13 h14 h15 h16 h17 h18", Recorded, records},
	{"FoldsSmall FoldsPasses PadsByUnit OverlapsSwapped OverlapsBroadcast", "h13 h14", Recorded, records},
	{"MarksSwapped PairsForOne", "h13 h14", Recorded, records},
	{"TimesCopies WaitsForEngine WaitsForKernel GroupsMatrices", "h13 h14", Recorded, records},
	{"GroupsMatrices", "h15", Inferred, "what zinc can write"},
	{"LanesInPasses SmallRows", "h13 h14 h15 h16", Recorded, records},
	{"FetchesBroadcast PadsWideRows PlainRow", "h13 h14 h15 h16 h17", Recorded, records},
	{"FindsZeros SmallSources", "h13 h14 h15 h16 h17 h18", Recorded, records},
	{"WideByPairs SkipsFilled RoundsByMemory KeepsKernel WaitsForKept", "h13", Recorded, records},
	{"WideByPairs SkipsFilled RoundsByMemory KeepsKernel WaitsForKept", "h18g", Decoded, studyWords},
	{"KeepsKernel", "h18g", Inferred, "one published task"},
	{"HeaderRead HeaderWrite HeaderKernel HeaderProducts", "h13", Recorded, records},
	{"HeaderRead HeaderWrite HeaderKernel HeaderProducts", "h18g", Decoded, studyWords},
	{"ConstantSegments", "h13 h14 h15 h16 h17 h18", Recorded, records},
	{"StreamForms NoCode", generations, Decoded, guide24},
	{"Palettes", generations, Decoded, studyHAL},
	{"StreamForms Palettes", "h18 h18g", Decoded, studyHAL},
	{"Arithmetic WidthSliceEnd FlushesProducts", "h13 h13g h14g", Measured, guide3},
	{"Arithmetic FlushesProducts", "h16 h17 h17s h18", Inferred, "h16g and h18g, which were measured"},
	{"Arithmetic FlushesProducts", "h16g h18g", Measured, study},
	{"WidthSliceEnd", "h16", Inferred, "h17s, which was measured"},
	{"WidthSliceEnd", "h17s", Measured, guide3},
	{"StateMultiple", "h13", Decoded, "no report states one"},
	{"StateMultiple", "h16", Measured, states},
}

// everyTarget in a row is all targets.
const everyTarget = "all"

// BasisOf returns how a column of the table is known. What no source states of a target is inferred from the table that
// it was copied from.
func (t *Table) BasisOf(column string) Basis {
	for from := t; from != nil; from = from.from {
		for _, r := range slices.Backward(basisRows) {
			if !r.states(column, from.Name) {
				continue
			}
			if from == t || r.targets == everyTarget {
				return Basis{r.grade, r.source}
			}
			return Basis{Inferred, "as " + from.Name}
		}
	}
	return Basis{Inferred, "as " + t.oldest().Name}
}

// states reports whether the row is about the column of that target.
func (r *basisRow) states(column, target string) bool {
	return slices.Contains(strings.Fields(r.columns), column) &&
		(r.targets == everyTarget || slices.Contains(strings.Fields(r.targets), target))
}

// oldest returns the table that the table was first copied from.
func (t *Table) oldest() *Table {
	for t.from != nil {
		t = t.from
	}
	return t
}
