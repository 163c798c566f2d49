package broker

import (
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
)

// Check says who asks for an entitlement.
type Check uint8

// The places of a check.
const (
	ByKernel     Check = iota + 1 // the driver, when a user client opens
	ByConnection                  // the broker, when it accepts a connection
	ByMethod                      // the broker, at the methods that need it
)

// String returns the place in a word.
func (c Check) String() string {
	return [...]string{"nobody", "kernel", "connection", "method"}[min(c, ByMethod)]
}

// The keys of table 27.8.
const (
	KeyUserClient        = driver.UserAccess
	KeyDataChaining      = "com.apple.ane.allow-dataChaining-access"
	KeyPrivate           = "com.apple.aned.private.allow"
	KeyAccess            = "com.apple.aned.private.ANEAccess.allow"
	KeyAdapterWeight     = "com.apple.aned.private.adapterWeight.allow"
	KeyModelShare        = "com.apple.aned.private.processModelShare.allow"
	KeySecondaryCompiler = "com.apple.aned.private.secondaryANECompilerServiceAccess.allow"
	KeyAggressiveSaving  = "com.apple.aned.private.aggressivePowerSaving"
	KeyPurgeAll          = "com.apple.aned.private.modelPurgeInAllPartitions"
	KeyDirectPath        = "com.apple.security.temporary-exception.iokit-user-client-class"
	KeyTrustCacheClient  = "com.apple.security.ts.ane-client"
)

// Entitlement is a row of table 27.8.
type Entitlement struct {
	Key        string
	Capability string
	Holders    int    // binaries that hold it; 0 when the table does not count them
	HolderNote string // what the table says of the holders besides the number
	CheckedBy  Check
	Doc        string // what the check does here; "modelled" where the chapter is silent
}

// Entitlements is table 27.8, in its order. The keys that the driver checks beyond
// the two open gates, table 27.7, are the driver's table.
var Entitlements = []Entitlement{
	{KeyUserClient, "open the user client, the privileged device open", 2, "the broker and its per-user sibling", ByKernel,
		"the broker's own task holds it; a caller that holds it gains nothing here"},
	{KeyDataChaining, "resident data-chaining on the direct-path client", 0, "kernel-checked at client init", ByKernel,
		"passed on with the caller's task when it opens its direct path"},
	{KeyPrivate, "baseline: compile, load, instantiate through the broker", 18, "", ByConnection,
		"admits the connection, to the restricted tier (modelled)"},
	{KeyAccess, "inference-client access-grant variant", 14, "", ByConnection,
		"admits the connection, to the unrestricted tier (modelled)"},
	{KeyAdapterWeight, "stream adapter weights onto a shared resident base model", 5, "", ByMethod,
		"createInstanceWithWeights"},
	{KeyModelShare, "share one resident model across processes", 4, "", ByMethod,
		"loadModel with Share, and attachModel"},
	{KeySecondaryCompiler, "the longer-duration compiler service for large models", 1, "", ByMethod,
		"compileModel with Secondary, which models above Limits.PrimaryModelBytes need"},
	{KeyAggressiveSaving, "the aggressive-power-saving execution mode", 0, "gate helper only", ByMethod,
		"createInstance with AggressivePowerSaving"},
	{KeyPurgeAll, "purge models across all cache partitions", 0, "gate helper only", ByMethod,
		"purgeModels with AllPartitions"},
	{KeyDirectPath, "open the direct-path user client for own submission", 27, "", ByMethod,
		"openDirectPath, which hands out the program and intermediate-buffer handles"},
	{KeyTrustCacheClient, "trust-cache blessed-client slot for latency-critical consumers", 5, "", ByConnection,
		"Limits.ReservedConnections of the broker's connections are kept for its holders (modelled)"},
}

// Entitled reports whether the caller holds a key.
func (id *Identity) Entitled(key string) bool { return slices.Contains(id.Entitlements, key) }
