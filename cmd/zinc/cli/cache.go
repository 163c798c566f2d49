package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile/cache"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/runtime/sim"
)

// cacheCommand is the state of `zinc cache` and the commands below it.
type cacheCommand struct {
	*env
	cacheFlags
	json     bool
	remove   bool
	maxBytes int64
}

func newCache(e *env) *cobra.Command {
	c := &cacheCommand{env: e}
	cmd := &cobra.Command{
		Use:   "cache ls|verify|gc",
		Short: "List, check and trim the cache of compiled pairs",
		Long: `Cache manages a folder of compiled pairs, set with --cache or ` + cacheEnv + `.

The key of a pair covers everything that can change a byte of it: this build of zinc,
the options, and every file of the model. A pair is one file, or two if its container
is large, written under temporary names and renamed, so any number of processes may
share a folder. When a pair is added
and the folder is larger than ` + cacheBytesEnv + ` bytes (default ` + fmt.Sprint(int64(defaultCacheBytes)) + `, 0 for
unlimited), the least recently used pairs are removed.

Entries are checked for corruption, not for forgery: anyone who can write to the folder
decides what runs. A folder to which others can write is refused without --cache-trust.

With --cache-remote or ` + remoteEnv + ` a pair that is not in the folder is requested from a
server, which several machines share, and stored there once it is compiled: blobs under
/cas/ and entries under /ac/, with GET and PUT, as Bazel's HTTP cache. What arrives is
checked and loaded before it is used. A server that is dead, slow or wrong costs one
warning, and the model is compiled.`,
		Example: `  zinc model.mlmodelc --cache ~/.cache/zinc
  zinc cache ls --cache ~/.cache/zinc
  zinc cache gc --cache ~/.cache/zinc --max-bytes 1000000000`,
		GroupID: groupZinc,
		Args:    operands(1, 1, "ls, verify or gc"),
		RunE: func(_ *cobra.Command, args []string) error {
			return usagef("cache: unknown command %q (want ls, verify or gc)", args[0])
		},
	}
	sub := func(use, short string, run func(ctx context.Context) error) *cobra.Command {
		s := &cobra.Command{
			Use: use, Short: short, Args: operands(0, 0, "no operand"),
			RunE: func(cmd *cobra.Command, _ []string) error {
				if c.dir == "" {
					return usagef("cache: missing folder; set --cache FOLDER or %s", cacheEnv)
				}
				return run(cmd.Context())
			},
		}
		cmd.AddCommand(s)
		return s
	}
	c.registerFolder(cmd.PersistentFlags())
	cmd.PersistentFlags().Lookup("cache").Usage = "`FOLDER` of the cache (default " + cacheEnv +
		", or zinc in the user's cache folder)"
	cmd.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON")
	sub("ls", "List the entries, most recently used first: key, bytes, last use", c.list)
	v := sub("verify", "Read every entry, check its checksum and load it; exit status 1 when one is damaged",
		c.verify)
	v.Flags().BoolVar(&c.remove, "remove", false, "remove damaged entries")
	gc := sub("gc", "Remove the least recently used entries, and the leftovers of interrupted writers", c.collect)
	gc.Flags().Int64Var(&c.maxBytes, "max-bytes", -1, "size limit in `BYTES` for the remaining entries (default "+
		cacheBytesEnv+
		")")
	return cmd
}

// entryJSON is one entry in the JSON output of ls and verify.
type entryJSON struct {
	Key   string `json:"key"`                // key of the entry, in hexadecimal
	Bytes int64  `json:"bytes"`              // size of its files
	Used  string `json:"last_use,omitempty"` // RFC 3339, UTC
	Fault string `json:"fault,omitempty"`    // why it is corrupt
}

// cacheListJSON is what zinc cache ls --json prints.
type cacheListJSON struct {
	Entries []entryJSON `json:"entries"`   // entries, the last used first
	Bytes   int64       `json:"bytes"`     // size of all entries
	Max     int64       `json:"max_bytes"` // 0 for no limit
}

// cacheVerifyJSON is what zinc cache verify --json prints.
type cacheVerifyJSON struct {
	Entries []entryJSON `json:"entries"` // entries, the corrupt ones with their fault
}

// cacheCollectJSON is what zinc cache gc --json prints.
type cacheCollectJSON struct {
	Removed      int   `json:"removed"`         // entries that were removed
	RemovedBytes int64 `json:"removed_bytes"`   // size of the removed entries
	Kept         int   `json:"kept"`            // entries that stay
	KeptBytes    int64 `json:"kept_bytes"`      // size of the entries that stay
	Temporary    int   `json:"temporary_files"` // unfinished ones that were removed
}

func (c *cacheCommand) list(context.Context) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	total := int64(0)
	rows := []entryJSON{}
	for _, e := range list {
		total += e.Size
		rows = append(rows, entryJSON{Key: e.Key.String(), Bytes: e.Size, Used: e.Used.UTC().Format(time.RFC3339)})
	}
	if c.json {
		return jsonform.Document(c.out, cacheListJSON{rows, total, store.MaxBytes})
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d bytes\t%s\n", r.Key, r.Bytes, r.Used)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s, %s\n", diag.Count(len(rows), "entry", "entries"), diag.Count(int(total), "byte",
		"bytes"))
	return err
}

// errNotWhole is returned by a verification that has already printed the damaged entries.
var errNotWhole = errors.New("the cache contains damaged entries")

func (c *cacheCommand) verify(ctx context.Context) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	rows := []entryJSON{}
	whole := 0
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := entryJSON{Key: e.Key.String(), Bytes: e.Size}
		fault := loads(store, e.Key)
		if errors.Is(fault, fs.ErrNotExist) {
			continue // another process collected it
		}
		if fault == nil {
			whole++
		} else {
			row.Fault = fault.Error()
			if c.remove {
				if err := store.Remove(e.Key); err != nil {
					return err
				}
			}
		}
		rows = append(rows, row)
	}
	if c.json {
		err = jsonform.Document(c.out, cacheVerifyJSON{rows})
	} else {
		err = c.printFaults(rows, whole)
	}
	if err == nil && whole < len(rows) {
		err = &exitError{err: errNotWhole, status: statusInput, shown: true}
	}
	return err
}

func (c *cacheCommand) printFaults(rows []entryJSON, whole int) error {
	for _, r := range rows {
		if r.Fault == "" {
			continue
		}
		removed := ""
		if c.remove {
			removed = " (removed)"
		}
		if _, err := fmt.Fprintf(c.out, "%s%s\n", r.Fault, removed); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.out, "%d of %d entries valid\n", whole, len(rows))
	return err
}

// loads reads an entry and loads its pair.
func loads(store cache.Store, k pair.Key) error {
	p, err := store.Verify(k)
	if err != nil {
		return err
	}
	if _, err := sim.Open(p); err != nil {
		return &cache.EntryError{Path: store.Path(k), Rule: err.Error()}
	}
	return nil
}

func (c *cacheCommand) collect(context.Context) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	most := c.maxBytes
	switch {
	case most < -1:
		return usagef("--max-bytes=%d: must be 0 or more", most)
	case most == -1 && store.MaxBytes == 0:
		return usagef("cache gc: missing size limit; set --max-bytes BYTES")
	case most == -1:
		most = store.MaxBytes
	}
	did, fault := store.Collect(most)
	if c.json {
		return errors.Join(fault, jsonform.Document(c.out, cacheCollectJSON{
			Removed:      did.Removed,
			RemovedBytes: did.RemovedBytes,
			Kept:         did.Kept,
			KeptBytes:    did.KeptBytes,
			Temporary:    did.Temporary,
		}))
	}
	_, err = fmt.Fprintf(c.out, "%s of %d bytes removed, %d of %d bytes kept\n", diag.Count(did.Removed, "entry",
		"entries"), did.RemovedBytes, did.Kept, did.KeptBytes)
	if err == nil && did.Temporary > 0 {
		_, err = fmt.Fprintf(c.out, "%s removed\n", diag.Count(did.Temporary, "unfinished file", "unfinished files"))
	}
	return errors.Join(fault, err)
}
