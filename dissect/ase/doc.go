// Package ase dissects the All-Seeing Eye protocol, by which Multi Theft Auto
// (MTA), Far Cry, Battlefield 1942, Soldat and others answer server browsers. It
// does not join the fragments of long replies (reassembly/eye does, before), and
// it knows nothing of the lists of servers, which MTA fetches over HTTP.
//
// A text is a string after a length byte that counts itself: 01 is empty, 00 is
// impossible. Servers look at the first byte of a request and ignore the rest.
//
//	requests
//	  73 's'  everything            -> EYE1
//	  62 'b'  for browsers          -> EYE2 (MTA)
//	  72 'r'  the same [" mtasa"]   -> EYE2 (MTA)
//	  78 'x'  for Xfire             -> EYE3 (MTA)
//	  76 'v'  version               -> bare text (MTA)
//	  70 'p'  ping                  -> nothing known
//
//	replies
//	  "EYE1"  game, port, name, gametype, map, version, password, players,
//	          max_players as texts, (key text, value text)*, 01,
//	          (flags u8, by its bits in this order: 01 name, 02 team, 04 skin,
//	           08 score, 10 ping, 20 time, all texts)*, [00]
//	  "EYE2"  game "mta", port, name, gametype as texts, map field, version text,
//	          password u8, serials u8, players u8, max_players u8, (name text)*
//	  "EYE3"  game "mta", name, gametype as texts, map field, version text,
//	          password u8, players u8, max_players u8
//	  bare    "1.6", in answer to 'v' and to nothing else
//
//	map field of EYE2 and EYE3: one length byte for all of it, itself included
//	  length u8 | map 00 | online | 00 build_type 00 build_number 00 ping_status
//	  00 net_route 00 uptime 00 http_port              (EYE3: map and online only)
//
//	fragment of an EYE1 that one datagram does not hold
//	  "EYE" number '1'.. | piece | id u32         1,364 bytes, the last one less
//
// # Variants
//
// Numbers in EYE1 are texts, in EYE2 and EYE3 bytes, capped at 255: the true
// count of players is in online. The list after the map grew over the years, so
// fewer and more items than seven are read. EYE2 lists players as long as about
// 1,340 bytes allow and sends empty names for the rest. MTA sends EYE1 in one
// datagram of up to 4.7 KB; it never uses fragments, and no other game is known to
// send EYE2 and EYE3 as replies of their own: the game's name tells the two apart,
// and failing that what the client asked.
//
// The query port is the game's port plus 123; a server that finds it taken goes
// on to the next one or two.
//
// # Sources
//
// MTA's server (ASE.cpp, ASEQuerySDK.h), the description at int64.org with its
// capture of a Far Cry server, qstat for the fragments, recorded MTA replies.
//
// # Open questions
//
// Whether any server sends a fragment of full length that is the last one: it
// would be given up as incomplete. What the player flags 40 and 80 announce; they
// are read as announcing nothing.
package ase
