package passes_test

import (
	"context"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/internal/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
)
