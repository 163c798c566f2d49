package broker

import (
	"reflect"
	"slices"
)

// Gate is an argument of a method that requires an entitlement.
type Gate struct {
	Key string
	// Argument is the field of the request that needs the entitlement, anyCall if every call needs it.
	Argument string
	// AnyTier gates are not bound to the restricted and per-user tiers.
	AnyTier bool
}

// Method is a row of the table of methods.
type Method struct {
	Name  string
	Call  string // method of Client
	Doc   string
	Gates []Gate
	// QoS says whether the method takes a quality-of-service class.
	QoS bool
}

// The names of the methods. They follow the daemon's interface where it is known publicly (compile, load, new instance,
// unload, purge); the others are modelled.
const (
	mCompile       = "compileModel"
	mLoad          = "loadModel"
	mAttach        = "attachModel"
	mInstance      = "createInstance"
	mWeights       = "createInstanceWithWeights"
	mEvaluate      = "evaluate"
	mEvaluateAsync = "evaluateAsync"
	mDirect        = "openDirectPath"
	mChaining      = "prepareChaining"
	mRelease       = "releaseInstance"
	mUnload        = "unloadModel"
	mPurge         = "purgeModels"
	mConnect       = "connect"
)

// anyCall is the argument of a gate of the method itself.
const anyCall = "any call"

// Methods is the table of the methods: their purpose, the entitlements that their arguments require, and whether they
// take a class of service. Admission is decided by this table alone.
var Methods = []Method{
	{Name: mCompile, Call: "Compile", Doc: "compile a model, or find it in the caller's cache partition", QoS: true,
		Gates: []Gate{{Key: KeySecondaryCompiler, Argument: "Secondary"}}},
	{Name: mLoad, Call: "Load", Doc: "make a container resident, or share the resident program of the same tenant",
		QoS: true, Gates: []Gate{{Key: KeyModelShare, Argument: "Share"}}},
	{Name: mAttach, Call: "Attach", Doc: "share a resident program of another process", QoS: true,
		Gates: []Gate{{Key: KeyModelShare, Argument: anyCall}}},
	{Name: mInstance, Call: "CreateInstance", Doc: "create an instance of a loaded model", QoS: true,
		Gates: []Gate{{Key: KeyAggressiveSaving, Argument: "AggressivePowerSaving"}}},
	{Name: mWeights, Call: "CreateInstanceWithWeights",
		Doc: "create an instance of a named base model with its own weight files", QoS: true,
		Gates: []Gate{{Key: KeyAdapterWeight, Argument: anyCall},
			{Key: KeyAggressiveSaving, Argument: "AggressivePowerSaving"}}},
	{Name: mEvaluate, Call: "Evaluate", Doc: "run a procedure of an instance, and wait for it", QoS: true},
	{Name: mEvaluateAsync, Call: "EvaluateAsync", Doc: "run a procedure of an instance; a completion follows",
		QoS: true},
	{Name: mDirect, Call: "OpenDirectPath", Doc: "return the program and intermediate-buffer handles of an instance",
		QoS: true, Gates: []Gate{{Key: KeyDirectPath, Argument: anyCall, AnyTier: true}}},
	{Name: mChaining, Call: "PrepareChaining", Doc: "create a chain from a procedure, for the direct path to fire",
		QoS: true, Gates: []Gate{{Key: KeyDirectPath, Argument: anyCall, AnyTier: true}}},
	{Name: mRelease, Call: "ReleaseInstance", Doc: "release an instance"},
	{Name: mUnload, Call: "Unload", Doc: "end the caller's use of a resident program, with its instances", QoS: true},
	{Name: mPurge, Call: "Purge", Doc: "drop compiled models from the caller's cache partition, or from all",
		Gates: []Gate{{Key: KeyPurgeAll, Argument: "AllPartitions"}}},
}

// asked reports whether a request, a pointer to a struct, is subject to the gate. An argument that the request does not
// have, such as anyCall, is one of every request.
func (g *Gate) asked(req any) bool {
	v := reflect.ValueOf(req).Elem().FieldByName(g.Argument)
	return !v.IsValid() || v.Bool()
}

// class returns the class of service of a request, 0 if the method takes none.
func (m *Method) class(req any) QoS {
	if !m.QoS {
		return 0
	}
	return reflect.ValueOf(req).Elem().FieldByName("QoS").Interface().(QoS)
}

// methodNamed finds a row.
var methodNamed = func() map[string]*Method {
	m := map[string]*Method{}
	for i := range Methods {
		m[Methods[i].Name] = &Methods[i]
	}
	return m
}()

// accept is the check of a connection: it returns the caller's tier or refuses the caller.
func (b *Broker) accept(id *Identity) (Tier, error) {
	if !id.Entitled(KeyPrivate) && !id.Entitled(KeyAccess) {
		e := errorf(mConnect, NotEntitled, "%v holds neither %s nor %s; a client of the broker needs one of them", id,
			KeyPrivate, KeyAccess)
		e.Key = KeyPrivate
		return NoTier, e
	}
	switch {
	case b.cfg.PerUser && id.UID != b.cfg.UID:
		return NoTier, errorf(mConnect, NotEntitled, "%v runs as user %d; this is the broker of user %d", id, id.UID,
			b.cfg.UID)
	case b.cfg.PerUser:
		return PerUser, nil
	case id.Entitled(KeyPrivate):
		return Restricted, nil
	}
	return Unrestricted, nil
}

// gated reports whether a tier takes gated requests of a caller at all.
func (s *Session) gated() bool {
	return s.tier == Restricted || s.tier == PerUser && s.id.Entitled(KeyPrivate)
}

// admit is the admission check of a method.
func (s *Session) admit(m *Method, req any) error {
	for i := range m.Gates {
		g := &m.Gates[i]
		if !g.asked(req) {
			continue
		}
		if !g.AnyTier && !s.gated() {
			e := errorf(m.Name, NotEntitled, "%s needs the restricted tier; %v is in the %v one, which %s leaves",
				g.Argument, &s.id, s.tier, KeyPrivate)
			e.Key = g.Key
			return e
		}
		if !s.id.Entitled(g.Key) {
			e := errorf(m.Name, NotEntitled, "%s needs %s, which %v does not hold", g.Argument, g.Key, &s.id)
			e.Key = g.Key
			return e
		}
	}
	if !m.QoS {
		return nil
	}
	return s.admitQoS(m, m.class(req))
}

// admitQoS checks that the caller may use a class.
func (s *Session) admitQoS(m *Method, q QoS) error {
	c, ok := q.class()
	if !ok {
		return errorf(m.Name, BadArgument,
			"quality of service %d is not a class; use one of QoSClasses, such as %d", uint32(q), QoSDefault)
	}
	if c.Restricted && !s.gated() {
		return errorf(m.Name, NotEntitled, "class %s needs the restricted tier; %v is in the %v one", c.Name, &s.id,
			s.tier)
	}
	if len(c.Keys) == 0 {
		return nil
	}
	if slices.ContainsFunc(c.Keys, s.id.Entitled) {
		return nil
	}
	e := errorf(m.Name, NotEntitled, "class %s, priority %d, needs %s, which %v does not hold", c.Name, c.Priority,
		c.Keys[0], &s.id)
	e.Key = c.Keys[0]
	return e
}
