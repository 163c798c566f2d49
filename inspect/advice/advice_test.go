package advice

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/explain"
)

// TestRetrainingIsNotTheSame holds that a change after which a model must be trained again does not claim its results.
func TestRetrainingIsNotTheSame(t *testing.T) {
	same, other := why(&explain.Advice{}), why(&explain.Advice{Retrain: "the model must be trained again with it"})
	if !strings.Contains(same, "same results") || strings.Contains(other, "same results") {
		t.Errorf("%q, and with retraining %q", same, other)
	}
}
