// Package docs contains the documentation and the tests that keep it correct.
//
// In: the tables that the code uses (the operations, the fields of a task, the passes, the lowering rules, the walls
// between packages, the constants of the cost model, the budgets). Out: the generated parts of the documents in this
// folder.
//
// Invariants: a part between the lines "<!-- generated: NAME" and "<!-- end: NAME -->" matches those tables, and every
// relative link and every repository path in backquotes leads to a file. The tests fail otherwise; go generate ./docs
// rewrites the generated parts.
package docs

//go:generate go test -run "TestGenerated|TestSchemaIsGenerated|TestReadmeCommands" -update .
