package broker

import (
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
)

// Check says who checks an entitlement.
type Check uint8

// The places of a check.
const (
	ByKernel     Check = iota + 1 // the driver, when a user client opens
	ByConnection                  // the broker, when it accepts a connection
	ByMethod                      // the broker, at the methods that need it
)

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
	HolderNote string // what the table says about the holders besides their number
	CheckedBy  Check
	Doc        string // what the check does here; "modelled" where the chapter is silent
}

// Entitlements is table 27.8, in its order. The keys that the driver checks beyond
// the two open gates, table 27.7, are the driver's table.
var Entitlements = []Entitlement{
	{Key: KeyUserClient, Capability: "open the user client (privileged device open)", Holders: 2,
		HolderNote: "the broker and its per-user sibling", CheckedBy: ByKernel,
		Doc: "the broker's own task holds it; for a caller it has no effect here"},
	{Key: KeyDataChaining, Capability: "resident data-chaining on the direct-path client", Holders: 0,
		HolderNote: "checked by the kernel at client init", CheckedBy: ByKernel,
		Doc: "passed on with the caller's task when it opens its direct path"},
	{Key: KeyPrivate, Capability: "baseline: compile, load, instantiate through the broker", Holders: 18,
		CheckedBy: ByConnection,
		Doc:       "admits the connection, to the restricted tier (modelled)"},
	{Key: KeyAccess, Capability: "inference-client access-grant variant", Holders: 14, CheckedBy: ByConnection,
		Doc: "admits the connection, to the unrestricted tier (modelled)"},
	{Key: KeyAdapterWeight, Capability: "stream adapter weights onto a shared resident base model", Holders: 5,
		CheckedBy: ByMethod,
		Doc:       "createInstanceWithWeights"},
	{Key: KeyModelShare, Capability: "share one resident model across processes", Holders: 4, CheckedBy: ByMethod,
		Doc: "loadModel with Share, and attachModel"},
	{Key: KeySecondaryCompiler, Capability: "the longer-duration compiler service for large models", Holders: 1,
		CheckedBy: ByMethod,
		Doc:       "compileModel with Secondary, which models above Limits.PrimaryModelBytes need"},
	{Key: KeyAggressiveSaving, Capability: "the aggressive-power-saving execution mode", Holders: 0,
		HolderNote: "gate helper only", CheckedBy: ByMethod,
		Doc: "createInstance with AggressivePowerSaving"},
	{Key: KeyPurgeAll, Capability: "purge models across all cache partitions", Holders: 0,
		HolderNote: "gate helper only", CheckedBy: ByMethod,
		Doc: "purgeModels with AllPartitions"},
	{Key: KeyDirectPath, Capability: "open the direct-path user client for own submission", Holders: 27,
		CheckedBy: ByMethod,
		Doc:       "openDirectPath, which returns the program and intermediate-buffer handles"},
	{Key: KeyTrustCacheClient, Capability: "trust-cache blessed-client slot for latency-critical consumers", Holders: 5,
		CheckedBy: ByConnection,
		Doc:       "Limits.ReservedConnections of the broker's connections are kept for its holders (modelled)"},
}

// Entitled reports whether the caller holds a key.
func (id *Identity) Entitled(key string) bool { return slices.Contains(id.Entitlements, key) }
