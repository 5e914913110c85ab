// Package loaded reads what the rules of qsniff do that are loaded on this machine: how much of a flood
// they drop. qsniff captures before the firewall, so that its own figures do not show it.
//
//	qsniff (captures; has no rights)        qsniff rule-counters (Serve; no packets, may read the firewall)
//	  Reader  -- a line: read them -------->  nft -j list table inet qsniff, else iptables-save -c
//	          <------- a Table as JSON -----
//
// Nothing here changes a rule.
package loaded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"qsniff/internal/flood/advice"
)

// Table is what is loaded, and what it has counted since.
type Table struct {
	IsLoaded bool `json:"loaded"`
	// Problem is why nothing is known; empty: IsLoaded is.
	Problem string   `json:"problem,omitempty"`
	Since   int64    `json:"since,omitempty"`   // Unix seconds; 0: unknown
	Expires int64    `json:"expires,omitempty"` // when the rules match nothing any more; 0: never, or unknown
	Targets []Target `json:"targets,omitempty"`
	Handle  uint64   `json:"handle,omitempty"` // another one: it was loaded anew
	Undo    string   `json:"undo,omitempty"`   // the commands that remove them
}

// Target is what the rules for one target have counted.
type Target struct {
	Kinds  string `json:"kinds"`  // of the incidents
	Target string `json:"target"` // as flood.Target writes it
	// Looked are the packets that a rule looked at, Dropped those of them that rules dropped.
	Looked  uint64 `json:"looked"`
	Dropped uint64 `json:"dropped"`
}

// listing is what nft prints as JSON, as far as it is read.
type listing struct {
	Objects []object `json:"nftables"`
}

// object is one of its objects. Rules and elements are decoded one by one: a user may have added some that
// qsniff does not know.
type object struct {
	Table *struct {
		Handle uint64 `json:"handle"`
	} `json:"table"`
	Set *struct {
		Name    string          `json:"name"`
		Timeout int64           `json:"timeout"`
		Elem    json.RawMessage `json:"elem"`
	} `json:"set"`
	Rule json.RawMessage `json:"rule"`
}

// rule is a rule of nft, as far as it is read.
type rule struct {
	Chain   string `json:"chain"`
	Comment string `json:"comment"`
	Expr    []struct {
		Counter *struct {
			Packets uint64 `json:"packets"`
		} `json:"counter"`
		Jump *struct {
			Target string `json:"target"`
		} `json:"jump"`
		Drop json.RawMessage `json:"drop"` // "null" where it is there
	} `json:"expr"`
}

// element is an element of a set, as far as its time goes.
type element struct {
	Elem struct {
		Timeout int64 `json:"timeout"`
		Expires int64 `json:"expires"`
	} `json:"elem"`
}

// parse decodes what nft prints.
func parse(r io.Reader) (*listing, error) {
	text, err := io.ReadAll(io.LimitReader(r, longestListing+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > longestListing:
		return nil, fmt.Errorf("more than %d bytes of rules", longestListing)
	}
	l := new(listing)
	if err := json.Unmarshal(text, l); err != nil {
		return nil, errors.New("nft prints no JSON that can be read")
	}
	return l, nil
}

// ParseNFT returns what the table of rules has counted, of the text that "nft -j list table" prints.
func ParseNFT(text io.Reader) (*Table, error) {
	l, err := parse(text)
	if err != nil {
		return nil, err
	}
	return l.table(), nil
}

// sums adds up rules, by the names that chains have in files for nft.
type sums struct {
	chains  map[string][]advice.ChainCount // by the chain of a target, in the order of its lines
	dropped map[string]uint64
	targets []hooked
}

// hooked is the line of a hook that sends the packets of a target to its chain.
type hooked struct{ chain, mark string }

func newSums() *sums {
	return &sums{chains: map[string][]advice.ChainCount{}, dropped: map[string]uint64{}}
}

// add adds a rule of a chain: with its comment, how many packets came to it, and the chain that it sends them to.
func (s *sums) add(in, comment, to string, packets uint64, isDrop bool) {
	switch {
	case to != "" && advice.IsTargetChain(to):
		if len(s.targets) < maxTargets {
			s.targets = append(s.targets, hooked{to, comment})
		}
	case to != "":
		s.chains[in] = addCame(s.chains[in], to, packets)
	case isDrop && advice.IsTargetChain(in):
		s.chains[in] = append(s.chains[in], advice.ChainCount{Came: packets, Dropped: packets})
	case isDrop:
		s.dropped[in] += packets
	}
}

// list returns what was counted of each target.
func (s *sums) list() (all []Target) {
	for _, x := range s.targets {
		kinds, target, isMark := advice.CutMark(x.mark)
		if !isMark {
			continue
		}
		list := s.chains[x.chain]
		for i := range list {
			if list[i].Name != "" {
				list[i].Dropped = s.dropped[list[i].Name]
			}
		}
		n := Target{Kinds: kinds, Target: target}
		n.Looked, n.Dropped = advice.SumCounts(list)
		n.Looked = max(n.Looked, n.Dropped) // the lines are not read at one moment
		all = append(all, n)
	}
	return all
}

// table sums up what the rules have counted.
func (l *listing) table() *Table {
	t, s := &Table{IsLoaded: true, Undo: undoNFT}, newSums()
	for i := range l.Objects {
		o := &l.Objects[i]
		if o.Table != nil {
			t.Handle = o.Table.Handle
		}
		var r rule
		if o.Rule == nil || json.Unmarshal(o.Rule, &r) != nil {
			continue
		}
		var packets uint64
		to, isDrop := "", false
		for _, x := range r.Expr {
			switch {
			case x.Counter != nil:
				packets = x.Counter.Packets
			case x.Jump != nil:
				to = x.Jump.Target
			case x.Drop != nil:
				isDrop = true
			}
		}
		s.add(r.Chain, r.Comment, to, packets, isDrop)
	}
	t.Targets = s.list()
	return t
}

// undoNFT removes all rules for nft.
const undoNFT = "sudo nft delete table inet " + advice.Table

// addCame adds packets that a line sends to a chain, of which several lines may.
func addCame(list []advice.ChainCount, name string, packets uint64) []advice.ChainCount {
	i := slices.IndexFunc(list, func(c advice.ChainCount) bool { return c.Name == name })
	if i < 0 {
		i = len(list)
		list = append(list, advice.ChainCount{Name: name})
	}
	list[i].Came += packets
	return list
}

// parseAge returns for how long the elements of a set have been in it, and how much longer they stay, in
// seconds, of the text that "nft -j list set" prints. ok is false where the set has none.
func parseAge(r io.Reader) (age, left int64, ok bool) {
	l, err := parse(r)
	if err != nil {
		return 0, 0, false
	}
	for i := range l.Objects {
		s := l.Objects[i].Set
		var all []element
		if s == nil || json.Unmarshal(s.Elem, &all) != nil || len(all) == 0 {
			continue
		}
		x := all[0].Elem
		total := x.Timeout
		if total == 0 {
			total = s.Timeout
		}
		if x.Expires >= 0 && total >= x.Expires && total < longestTime {
			return total - x.Expires, x.Expires, true
		}
	}
	return 0, 0, false
}

// untilSet returns the set whose elements show when the rules were loaded; empty: there is none.
func (l *listing) untilSet() string {
	for i := range l.Objects {
		if s := l.Objects[i].Set; s != nil && advice.IsUntilSet(s.Name) {
			return s.Name
		}
	}
	return ""
}

const (
	// limit: longestListing is the length in bytes of what nft may print. Chosen: rules against nine
	// incidents are 24,000; the elements of sets are not printed.
	longestListing = 4 << 20

	// limit: maxTargets is how many targets are read. Chosen: incidents with rules at once are few, and each
	// has series in the metrics.
	maxTargets = 64

	// longestTime is above what nft takes as a timeout, in seconds.
	longestTime = 1 << 40
)
