// Package docs holds the documentation and the test that keeps it true.
//
// In: the tables that the code itself runs from (the fields of a task, the
// passes, the lowering rules, the walls between packages, the constants of the
// cost model, the budgets). Out: the generated parts of the documents in this
// folder.
//
// What always holds: a part between the lines "<!-- generated: NAME" and
// "<!-- end: NAME -->" is what those tables say, and every relative link and
// every repository path that a document gives in backquotes leads to a file.
// The tests fail otherwise; go generate ./docs rewrites the generated parts.
package docs

//go:generate go test -run "TestGenerated|TestReadmeCommands" -update .
