package reduce

// A Pass is one way to make programs smaller.
type Pass struct {
	Name string
	Doc  string // what it does
	Why  string // why it is in its place
	run  func(r *reducer) error
}

// Passes are the passes, in the order in which a round runs them.
var Passes = []Pass{
	{Name: "functions", Doc: "keep one function of several", Why: "everything after has less to look at",
		run: (*reducer).functions},
	{Name: "shapes", Doc: "give flexible inputs their default shapes, and drop the ranges",
		Why: "the passes below cut values of known shape only", run: (*reducer).shapes},
	{Name: "halves", Doc: "keep the first or the second half of the statements, repeatedly",
		Why: "a fault in one place is nearly isolated after a few runs, each at half the cost of the one before",
		run: (*reducer).halves},
	{Name: "tail", Doc: "bisect for the earliest statement after which the function may end; what is read later " +
		"becomes its outputs", Why: "for programs that need both halves to show the fault; before head, as shorter " +
		"programs have " +
		"fewer values to cut", run: (*reducer).tail},
	{Name: "outputs", Doc: "keep one output, or as few as possible", Why: "each output keeps statements alive",
		run: (*reducer).outputs},
	{Name: "head", Doc: "bisect for the latest statement at which the function may begin; what it reads becomes " +
		"its inputs", Why: "with one output left, what comes before it in the text is mostly what it depends on",
		run: (*reducer).head},
	{Name: "fold", Doc: "compute what depends only on constants",
		Why: "the remaining constants are those that a cut could not turn into inputs", run: (*reducer).fold},
	{Name: "inline", Doc: "replace the statement by a branch of its condition, or one iteration of its loop",
		Why: "before statements, which can then drop what was inside", run: (*reducer).inline},
	{Name: "statements", Doc: "drop runs of statements (ddmin), from half of them down to one; their results " +
		"becomes inputs", Why: "finds what cuts at one place cannot: faults that need distant statements",
		run: (*reducer).statements},
	{Name: "sever", Doc: "drop a statement between two others; what it read becomes outputs",
		Why: "the two need not be connected to show the fault together", run: (*reducer).sever},
	{Name: "bypass", Doc: "replace a result by an operand of the same type, or by a constant",
		Why: "for values that cannot become inputs", run: (*reducer).bypass},
	{Name: "states", Doc: "turn a state's value into an input, and drop its updates",
		Why: "after statements, which leaves only states that are read", run: (*reducer).states},
	{Name: "inputs", Doc: "drop inputs that nothing reads, and let one serve for several of its type",
		Why: "the cuts above create many", run: (*reducer).inputs},
	{Name: "arguments", Doc: "drop optional arguments, and values of arguments that take several",
		Why: "fewer constants to shrink", run: (*reducer).arguments},
	{Name: "dims", Doc: "make dimensions smaller, in inputs, constants and shapes at once or in one place, and " +
		"infer the shapes after them again", Why: "few statements are left that must agree on shapes", run: (*reducer).
		dims},
	{Name: "constants", Doc: "make constants all zeros or all ones", Why: "after dims, when they are small",
		run: (*reducer).constants},
	{Name: "metadata", Doc: "drop build information and the names of operations",
		Why: "does not affect the computation, so it can wait", run: (*reducer).metadata},
}

// PassNames returns the names of the passes, in order.
func PassNames() []string {
	var out []string
	for _, p := range Passes {
		out = append(out, p.Name)
	}
	return out
}
