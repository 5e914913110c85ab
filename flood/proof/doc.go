// Package proof finds out which sources of packets are at the address that they
// give. It is a track.Watcher and bounded; it has no opinion on what they send.
//
// UDP does not say where a packet comes from: any address can stand in it. There are
// two proofs, and both are the same idea, a number that only whoever receives the
// server's packets can know:
//
//   - challenge: the server gave the address a challenge, and a request from the
//     address brings it back. The last two that a server gave to an address count,
//     each for a minute. Challenges are for addresses: the port may be another.
//   - handshake: the server agreed to a TCP connection with a first sequence number
//     of its own, and the next segment from the address acknowledges that number.
//
// # What it does not prove
//
// A proof is of its moment. From then on others can send with the same address, and
// who guards an allow-list with it must know that floods do (SmartlyDressedGames
// U3-SDK#3310: with the addresses of players). A proof also says nothing of intent,
// and of who shares an address behind a NAT.
//
// A server that gives the same challenge to everybody proves nothing: an attacker
// asks once from an address of its own. What such servers show is left out, see
// Summary.Shared. Nor does a capture prove anything whose capturing host lets
// packets with the server's own address come in from outside: an attacker then
// plays both parts. Options.Ours keeps that to servers that one knows.
package proof
