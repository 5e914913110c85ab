// Package limiter replays the limiter of connectionless packets that game servers
// of Valve's engines have, over the packets of a capture: whom would it have refused,
// and when? It is a track.Watcher and takes a fixed amount of memory. What the server of the
// capture did, its replies show.
//
// # What is counted
//
// The engines ask their limiter before they read the packet: everything that begins
// with FF FF FF FF counts, whatever it is (ReHLDS, SV_ReadPackets; Source calls it
// first thing in the function for connectionless packets). So junk that begins so
// uses up the limit as queries do, and so does a reply that somebody else's server
// sends to this one's port. A request makes its destination a server here; junk and
// replies count at ends that were asked before, because nothing else distinguishes a server's
// port from a client's. The All-Seeing Eye and master servers have no such limiter,
// and their messages do not count.
//
// # The model
//
// Time is in whole seconds. There is a counter for each address (its ports do not
// matter) and one for all, each with the second in which its window began:
//
//   - First the one of the address. An unknown address begins a window at 1. If more than
//     window seconds have passed since the window began, a new one begins at 1.
//     Else the counter rises, also with packets that are refused, and if it is then above per
//     times window, the packet is refused. So the limit is an average: all of a
//     window's packets may come at once, and after them nothing gets through until
//     the window is over.
//   - Then the one of all, in the same way, with global times window. What was refused for
//     its address is not counted there; what is refused here is.
//
// Sources: ReHLDS, rehlds/engine/ipratelimit.cpp (rehlds); for Source the same
// algorithm with the defaults of its variables, sv_max_queries_sec and its kin, in
// the lists of variables that the games print (source: 3, 60, window 30;
// source-late: 3, 3000, window 30, of later branches; csgo: 10, 500, window 30).
//
// csgo differs in two ways. It stores an address only when its packet got past
// both limits. And where more than 50,000 addresses have a window, it drops all of
// them and refuses everybody for a window: that is what a flood of forged sources
// brings about, and the replay counts it as an overrun.
//
// # What it does not model
//
//   - What was before the capture: counters begin at zero with the first packet, and
//     the engine's windows may lie up to a window otherwise.
//   - The engine's clock: its seconds begin at other fractions than the packets'.
//   - ReHLDS and Source trim their list of addresses when it is long, by those whose
//     window is over for long. With windows up to 120 s that changes no outcome.
//   - Bans and filters of the server before the limiter, other limits (of the Steam library: N
//     packets in 200 ms; of proxies and firewalls), packets that the kernel dropped.
//   - csgo drops an address in the second in which its window ends, if another
//     packet comes first in it; here its window lasts through that second.
//   - Split packets, which the engines join before they count. Nobody asks in those.
//   - IPv6, which the engines do not support: its addresses are counted as if they did.
//   - That clients ask again, or stop asking, when they get no answer.
//
// # Clients
//
// Refusals of clients that proved their address (internal/flood/proof) are counted separately: those
// are the people for whom the server exists. A proof at any time in the capture
// counts, also one after the refusal. A client that comes in the middle of a flood is refused
// on the first packet in the replay, and proves itself a moment later because the
// server of the capture did answer; counting only proofs that came before would leave
// out exactly those that a flood keeps away.
package limiter
