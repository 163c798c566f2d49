package docs

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
)

var places = map[broker.Check]string{
	0: "nobody", broker.ByKernel: "kernel", broker.ByConnection: "connection", broker.ByMethod: "method",
}

func writeEntitlements(w *bytes.Buffer) {
	head(w, "entitlement", "capability", "holders", "checked by", "here")
	for _, e := range broker.Entitlements {
		var holders []string
		if e.Holders > 0 {
			holders = append(holders, fmt.Sprint(e.Holders))
		}
		if e.HolderNote != "" {
			holders = append(holders, e.HolderNote)
		}
		row(w, "`"+e.Key+"`", e.Capability, strings.Join(holders, ": "), places[e.CheckedBy], e.Doc)
	}
}

func writeTiers(w *bytes.Buffer) {
	head(w, "tier", "who is in it")
	for _, t := range []broker.Tier{broker.Restricted, broker.Unrestricted, broker.PerUser} {
		row(w, t.String(), t.Doc())
	}
}

func writeMethods(w *bytes.Buffer) {
	head(w, "method", "call", "what it does", "gates", "class of service")
	for _, m := range broker.Methods {
		var gates []string
		for _, g := range m.Gates {
			s := g.Argument + ": `" + g.Key + "`"
			if g.AnyTier {
				s += " (any tier)"
			}
			gates = append(gates, s)
		}
		qos := ""
		if m.QoS {
			qos = "yes"
		}
		row(w, "`"+m.Name+"`", "`"+m.Call+"`", m.Doc, strings.Join(gates, "; "), qos)
	}
}

func writeQoS(w *bytes.Buffer) {
	head(w, "class", "number", "queue", "priority", "one of these keys", "restricted tier", "source")
	for _, c := range broker.QoSClasses {
		restricted := ""
		if c.Restricted {
			restricted = "yes"
		}
		row(w, c.Name, fmt.Sprint(uint32(c.QoS)), fmt.Sprint(broker.QueueIndex(c.QoS)), fmt.Sprint(c.Priority),
			quoted(c.Keys), restricted, c.Source)
	}
}
