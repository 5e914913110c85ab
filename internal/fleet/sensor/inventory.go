package sensor

import (
	"net/netip"
	"strings"

	"qsniff/internal/fleet"
	"qsniff/internal/monitor"
	"qsniff/internal/track"
)

// told is the profile in the last Inventory of a server, and when that was made. The zero told is none.
type told struct {
	end     int64
	profile track.Profile
}

// putInventory makes an Inventory of what a server says of itself: when its texts or its size have
// changed, else every inventoryEvery.
func (x *Sensor) putInventory(a netip.AddrPort, p monitor.Place, l *listing) {
	now := p.Profile()
	if now == nil {
		return
	}
	was := &l.told.profile
	isSame := now.Name == was.Name && now.Map == was.Map && now.Version == was.Version && now.Max == was.Max
	if isSame && l.told.end != 0 && x.end-l.told.end < int64(inventoryEvery) {
		return
	}
	l.told = told{max(x.end, 1), *now}
	m := &fleet.Inventory{Addr: a, Name: textOf(&now.Name), Map: textOf(&now.Map), Build: textOf(&now.Version),
		Players: int(now.Players), MaxPlayers: int(now.Max), Bots: int(now.Bots)}
	if t := x.opt.Detector.Watched(a); t != nil && t.Proto != nil {
		m.Protocol = t.Proto.Name
	}
	x.put(m, fleet.KindInventory, x.end)
}

// textOf returns a text from the network as valid UTF-8.
func textOf(t *track.ShortText) string { return toValid(string(t.Whole())) }

func toValid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
