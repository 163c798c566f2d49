package reduce

// A Pass is one way to make programs smaller.
type Pass struct {
	Name string
	Doc  string // what it does
	Why  string // why it stands in its place
	run  func(r *reducer) error
}

// Passes are the passes, in the order in which a round runs them.
var Passes = []Pass{
	{"functions", "keep one function of several", "everything after has less to look at", (*reducer).functions},
	{"shapes", "give flexible inputs their default shapes, and drop the ranges", "the passes below cut values of known shape only", (*reducer).shapes},
	{"halves", "keep the first or the second half of the statements, again and again", "a fault in one place is nearly alone after a few runs, of which each costs half of the one before", (*reducer).halves},
	{"tail", "bisect for the earliest statement after which the function may end; what is read later becomes its outputs", "on what no half of shows the fault; before head, as shorter programs have fewer values to cut", (*reducer).tail},
	{"outputs", "keep one output, or as few as do", "each output keeps statements alive", (*reducer).outputs},
	{"head", "bisect for the latest statement at which the function may begin; what it reads becomes its inputs", "with one output left, what stands before it in the text is mostly its own past", (*reducer).head},
	{"fold", "compute what depends on constants alone", "what is left are the constants that a cut could not make inputs", (*reducer).fold},
	{"inline", "put a branch of a condition, or one turn of a loop, in the place of the statement", "before statements, which then can drop what was inside", (*reducer).inline},
	{"statements", "drop runs of statements (ddmin), from half of them down to one; what they gave becomes inputs", "finds what cuts at one place cannot: faults that need statements far apart", (*reducer).statements},
	{"sever", "drop a statement between two others; what it read becomes outputs", "the two need not be connected to show the fault together", (*reducer).sever},
	{"bypass", "put an operand of the same type, or a constant, in the place of a result", "for values that cannot become inputs", (*reducer).bypass},
	{"states", "make a state's value an input, and drop its updates", "after statements, which leaves only states that are read", (*reducer).states},
	{"inputs", "drop inputs that nothing reads, and let one serve for several of its type", "the cuts above have made many", (*reducer).inputs},
	{"arguments", "drop optional arguments, and values of arguments that take several", "fewer constants to shrink", (*reducer).arguments},
	{"dims", "make dimensions smaller, in inputs, constants and shapes at once or in one place, and infer the shapes behind them again", "few statements are left to agree on shapes", (*reducer).dims},
	{"constants", "make constants all zeros or all ones", "after dims, on what is small by then", (*reducer).constants},
	{"metadata", "drop build information and the names of operations", "changes nothing that computes, so it can wait", (*reducer).metadata},
}

// PassNames returns the names of the passes, in order.
func PassNames() []string {
	var out []string
	for _, p := range Passes {
		out = append(out, p.Name)
	}
	return out
}
