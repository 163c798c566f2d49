// Package ci is an example of zinc in continuous integration: a workflow that fails
// when a model exceeds its budgets, and says in a comment what a change did to it.
//
// zinc.yml is the workflow, to be copied to .github/workflows. budgets.sh is what it
// runs, and runs anywhere:
//
//	sh examples/ci/budgets.sh HEAD_MODEL BASE_MODEL OUT_FOLDER
//
// It writes OUT_FOLDER/comment.md, the report of the model and its difference from the base's (zinc diff --markdown) as
// Markdown, and OUT_FOLDER/zinc.sarif, for code review. The budgets decide the exit status: on placement, dispatches,
// bytes and estimated time when the model is compiled, alone and relative to the base, on the error of the outputs when
// it is verified.
//
// The package holds no code but its test, which runs the script and holds every flag
// in both files against the commands.
package ci
