// Package a2s dissects the server queries of Valve's Source engine and of the
// many games that answer them through Steam: A2S_INFO, A2S_PLAYER, A2S_RULES,
// their challenges, ping and acknowledgement, and the log lines that servers send.
// It does not join split replies (reassembly/split does, before) and does not read
// GoldSource's own forms (dissect/goldsource). Every number is little-endian.
//
//	FF FF FF FF | opcode u8 | body
//
//	requests
//	  54 'T' A2S_INFO     "Source Engine Query\0" [challenge i32] [zero padding]
//	  55 'U' A2S_PLAYER   [challenge i32]
//	  56 'V' A2S_RULES    [challenge i32]
//	  57 'W' A2S_SERVERQUERY_GETCHALLENGE  [-1 i32]
//	  69 'i' A2A_PING     [00 | 0A]
//
//	replies
//	  41 'A' S2C_CHALLENGE  challenge i32                 exactly 9 bytes
//	  49 'I' S2A_INFO_SRC   protocol u8, name z, map z, folder z, game z,
//	                        app_id u16, players u8, max_players u8, bots u8,
//	                        server_type c, environment c, visibility u8, vac u8,
//	                        [The Ship: mode u8, witnesses u8, duration u8,]
//	                        version z,
//	                        [edf u8, by its bits in this order:
//	                          80 port u16, 10 steam_id u64,
//	                          40 tv_port u16 tv_name z, 20 keywords z,
//	                          01 game_id u64]
//	  44 'D' S2A_PLAYER     count u8, (index u8, name z, score i32, duration f32)*,
//	                        [The Ship: (deaths i32, money i32)* in the same order]
//	  45 'E' S2A_RULES      count u16, (name z, value z)*
//	  6A 'j' A2A_ACK        [body z]
//
//	to who wants the log
//	  52 'R' S2A_LOGSTRING  line z
//	  53 'S' S2A_LOGSTRING2 secret, line z
//	                        line: "L MM/DD/YYYY - HH:MM:SS: " text LF
//
// # Binary rules
//
// Arma 3 and DayZ put binary data into rules. A rule whose name is two bytes, page
// and count of pages from 1 on, holds a chunk of at most 127 bytes. The chunks,
// joined by page, are escaped, since 00 would end a value: 01 01 is 01, 01 02 is
// 00, 01 03 is FF. An escape may begin in one page and end in the next, so joining
// comes first and unescaping is one pass from left to right. Inside:
//
//	version u8, flags u8, dlc_mask u16,
//	[Arma 3: difficulty u8, crosshair u8,]
//	dlc hash u32 for each bit of the mask, the lowest first,
//	count u8, (hash u32, id_length u8, id, length u8, name)* for each mod,
//	count u8, (length u8, name)* for each key,
//	[DayZ: length u8, description]
//
//	difficulty: bits 0-2 level, 3-5 AI level, 6 simple flight model, 7 third person
//	id_length:  bits 0-3 bytes of the id, little-endian; bit 4: a Creator DLC
//
// Version 3 is Arma 3's. Version 2 is DayZ's, and Arma 3's in recorded replies of
// 1.62 and 1.66, with the two bytes of settings: the game decides, not the version.
// Version 1, older still, is text in rules like "mods:0-1" and stays as it is. A
// Creator DLC has an id of three bytes and an empty name; who takes the name's
// length for a fourth byte of the id reads the same.
//
// The rules stay as sent. The fields of what they hold stand after them; each
// names the bytes on the wire that it was decoded from, escapes and the name of a
// next page between them included.
//
// # Keywords
//
// What the keywords mean depends on the game. Elements stand between commas, in
// Garry's Mod between blanks:
//
//	Rust          mp575 cp547 qp17 v2336 born1653213379 gmrust h994ea700 ptrak
//	Arma 2, 3     bt r206 n148470 s3 i1 mf lf vt dt tcoop g65545 hbef8b95 f0 c97-33 pw e15 j0 k0 oCZ yaltis
//	DayZ          battleye no3rd privHive shard001 lqs3 etm4.000000 entm0.5 port2302 02:55 ...
//	Garry's Mod   gm:darkrp gmws:248302805 gmc:rp loc:us ver:240130
//	Unreal Engine BUILDID:1 OWNINGID:9 OWNINGNAME:a, b P2PADDR:9 P2PPORT:7777 SESSIONFLAGS:171
//	Source        words, and *grp:1105381i
//
// A switch is 0 or 1. A number that is none, an element that comes again, and all
// others are words. The name of an Unreal session is free text with commas in it:
// it ends before the next element that looks like a key.
//
// # Variants
//
// A challenge on A2S_INFO came in December 2020; servers may demand it. Steam's
// beta clients of that autumn padded requests with zeros to 1,200 bytes.
// The app_id field is 0 where the real one needs more than 16 bits; game_id has
// it. The Ship (2400) puts three bytes before the version and one block of deaths
// and money after the last player, not between players: remaining bytes are 8 for
// each player in recorded replies. Counts lie: engines count joining players and
// bots that the list does not hold, cut the list at the datagram's end, and
// wrap at 256. The secret of S2A_LOGSTRING2 has no length and no end: the date
// after it shows where it ends, and without a date all of it may be secret. HLTV
// answers requests by their first letter, whatever follows it.
//
// Plugins and caches that answer in place of the engine write replies wrongly: a
// buffer of zeros, the header twice, a challenge after the letter of rules. They
// are taken for answers only where the flow asked.
//
// Frontlines: Fuel of War uses the same opcodes with another
// layout: its rule count is big-endian, and its 'I' has text where the fixed
// bytes belong, so neither passes the tests here. Where they, or that game's own
// question, were seen, its other messages are not taken for A2S either.
//
// # Sources
//
// The Valve developer wiki's "Server queries" (English and French, 2006 to now),
// ReHLDS and Xash3D for what engines write, Bohemia Interactive's wiki for the
// binary rules and the keywords of Arma 3, and recorded replies of about fifty
// games.
//
// # Open questions
//
// EDF bits 02, 04 and 08 have no known meaning: a message that sets them is
// decoded as if they added nothing, and what they did add becomes trailing bytes.
// The flags of binary rules were 0 in all recorded replies; they are said to tell
// which lists the server cut. No recorded reply has the binary rules of DayZ.
package a2s
