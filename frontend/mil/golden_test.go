package mil

import (
	"os"

	"github.com/rogpeppe/go-internal/txtar"
)

func writeArchive(name string, ar *txtar.Archive) error {
	return os.WriteFile(name, txtar.Format(ar), 0o666)
}
