package cli

import (
	"fmt"
	"strings"
)

// Variables are the environment variables that zinc reads. Flag names the flag that a command must have for the
// variable to matter to it, "" for every command.
var Variables = []struct {
	Name    string
	Meaning string
	Flag    string
}{
	{
		Name: cacheEnv,
		Meaning: "folder to keep compiled pairs in, " + cacheOff + " for none; by default zinc in the user's cache " +
			"folder, which XDG_CACHE_HOME sets on Linux",
		Flag: "cache",
	},
	{
		Name:    cacheBytesEnv,
		Meaning: "size limit of that folder in bytes, 0 for unlimited; by default 8 GiB",
		Flag:    "cache",
	},
	{Name: remoteEnv, Meaning: "URL of a server that keeps compiled pairs, as --cache-remote", Flag: "cache-remote"},
	{Name: "NO_COLOR", Meaning: "any value: no colors, unless --color says otherwise"},
	{Name: "TERM", Meaning: "dumb: no colors, unless --color says otherwise"},
	{Name: "GOGC", Meaning: "how often Go collects garbage; zinc then does not delay the first collection"},
}

// environmentText lists the environment variables.
func environmentText() string {
	var b strings.Builder
	for _, v := range Variables {
		fmt.Fprintf(&b, "  %-20s  %s\n", v.Name, v.Meaning)
	}
	return b.String()
}
