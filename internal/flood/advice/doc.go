// Package advice writes what to do about an incident: in words, and as rules for
// nftables and iptables with the incident's addresses and rates filled in. It tries the
// rules on the packets of the capture that follow the detection and reports what they
// would have dropped, of the flood and of clients that had proved their address. It loads no
// rule, and it decides nothing about incidents: package flood does.
//
// An incident passes through it in this order:
//
//	begins   newPlan chooses the rules (plan.go): which kinds of lines, which addresses they
//	         name, which limits they have. The words (words.go), nft's file (nft.go) and
//	         iptables' (iptables.go) are written from the plan. A trial of the plan
//	         starts (trial.go), unless maxTrials run already.
//	packets  each packet to or from the target is matched with the plan's lines and
//	         charged to their buckets (rules.go), as the kernel would.
//	changes  another kind: a new plan, and the trial starts anew.
//	ends     the same texts, with what the trial measured.
//
// What a packet must look like to be matched is declared by the protocols: this package
// names none of them. From the roles of their types catalog.go chooses, for each kind of
// line, the patterns of packets and the types of sightings that have them. match.go turns
// patterns into tests of words, which nft.go and iptables.go write for either tool.
//
// State: for each trial a table of hashed addresses of limited size (hashtable.go, limits.go),
// for each of its plans those that stand for the kernel's sets, and one bucket for each rule.
// A trial's memory is used again for the next one.
package advice
