package provenance_test

import (
	"bytes"
	"fmt"

	"github.com/zinc-compiler/zinc/compile/provenance"
)

// A database answers queries in both directions: where byte 4 of the task section
// came from, and what line 12 was compiled to.
func Example() {
	db := &provenance.DB{
		Files:    []string{"model.mil"},
		Passes:   []string{"place", "fuse-epilogue"},
		TextSize: 0x100,
		Statements: []provenance.Statement{{Line: 12, Col: 5, Op: "conv", Name: "y"}, {Line: 13, Col: 5, Op: "relu",
			Name: "z"}},
		Nodes: []provenance.Node{{Statement: -1}, {Statement: 0}, {Statement: 1},
			{Statement: -1, Pass: "fuse-epilogue", From: []provenance.NodeID{1, 2}},
			{Statement: -1, Pass: "place", From: []provenance.NodeID{3}}},
		Procedures: []provenance.Procedure{{Name: "net"}},
		Tasks:      []provenance.Task{{Words: 64, Node: 4, Rule: "convolution"}},
	}
	var file bytes.Buffer
	if err := db.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	db, err := provenance.Read(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range db.Text(4, 1) {
		for _, line := range db.SourceLines(db.Source(h.Refs[0]), 0) {
			fmt.Println(line)
		}
	}
	made := db.From(db.Line("model.mil", 12)...)
	fmt.Println("tasks of line 12:", made.Tasks)
	// Output:
	// from model.mil:12:5 conv "y"
	// from model.mil:13:5 relu "z"
	// pass place, fuse-epilogue
	// rule convolution
	// tasks of line 12: [0]
}
