package explore

import (
	"os"
	"path/filepath"

	"github.com/zinc-compiler/zinc/frontend"
)

// sampleName is the name of the sample model, which is always available for editing.
const sampleName = "sample"

// sample writes the sample model into the server's folder and opens it.
func (s *Server) sample() (*model, error) {
	text, err := assetFiles.ReadFile("assets/sample.mil")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.folder, sampleName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, frontend.TextName), text, 0o600); err != nil {
		return nil, err
	}
	return openModel(Source{Path: dir})
}
