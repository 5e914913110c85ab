// Package proof finds out which sources of packets are at the address that they give. It is
// a track.Watcher and takes a fixed amount of memory. It does not judge what the sources
// send.
//
// The source address of a UDP packet proves nothing: a sender can write any. There are
// two proofs of the same kind: a number that only somebody who receives the
// server's packets can know comes back.
//
//   - challenge: the server gave the address a challenge, and a request from the
//     address brings it back. The last two challenges that a server gave to an address
//     count, each for a minute (freshFor), whatever the port: challenges are for addresses.
//   - handshake: the server agreed to a TCP connection with a first sequence number
//     of its own, and the next segment from the address acknowledges that number.
//
// # What it does not prove
//
// A proof holds for its moment. From then on others can send with the same address: floods
// do send with addresses of players, which defeats an allow-list (SmartlyDressedGames
// U3-SDK#3310). A proof is also no evidence of good intent, nor of who sends among those
// that share an address by NAT.
//
// A server that gives the same challenge to everybody proves nothing: an attacker
// gets it once at an address of its own. Such servers are listed in Summary.Shared, and
// echoes of their challenges do not count. Nor does a capture prove anything if the capturing
// host lets packets with the server's own address come in from outside: an attacker then
// plays both parts. Options.Ours restricts proofs to servers that the user named.
package proof
