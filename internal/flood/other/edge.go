package other

// EdgeRule is a rule by which a firewall before the host, which looks at protocols, addresses
// and ports, drops all packets of a class.
type EdgeRule struct {
	Protocol   string // "UDP"
	SourcePort uint16 // 0: any
	AtPort     bool   // only what goes to the target's port, if it has one
	Fragments  bool   // only fragments
	Only       string // where the rule does no harm, as part of a sentence
}

// edgeRules are the rules by the names of classes. Others have none: what they are made of
// cannot be told from wanted packets without a state, or is needed in small numbers.
var edgeRules = map[string]EdgeRule{
	own[synClass].Name:      {Protocol: "TCP", AtPort: true, Only: "if nobody needs TCP at this port (remote console, downloads)"},
	own[fragmentClass].Name: {Protocol: "UDP", Fragments: true, Only: "if nothing but games comes in here: their clients send none"},
	own[greClass].Name:      {Protocol: "GRE", Only: "if this host ends no tunnel"},
	own[espClass].Name:      {Protocol: "ESP", Only: "if this host speaks no IPsec"},
}

// Edge returns the rule for a class, and whether there is one.
func (c *Class) Edge() (EdgeRule, bool) {
	for i := range amplifiers {
		if a := &amplifiers[i]; c.Reflected && a.class().Name == c.Name {
			return EdgeRule{Protocol: "UDP", SourcePort: a.port, Only: a.harmless()}, true
		}
	}
	r, ok := edgeRules[c.Name]
	return r, ok
}

// harmless returns where dropping what comes from the amplifier's port does no harm.
func (a *amplifier) harmless() string {
	switch a.port {
	case 53:
		return "after rules that permit the resolvers which this host asks"
	case 123:
		return "after rules that permit the time servers which this host asks"
	}
	return "if this host asks no such servers: no game does"
}
