// Package a2s dissects the server queries of Valve's Source engine and of the
// many games that answer them through Steam: A2S_INFO, A2S_PLAYER, A2S_RULES,
// their challenges, ping and acknowledgement, and the log lines that servers send.
// It does not join split replies (reassembly/split does, before) and does not read
// GoldSource's own forms (dissect/goldsrc). Every number is little-endian.
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
// # Variants
//
// A challenge on A2S_INFO came in December 2020; servers may demand it. Steam's
// beta clients of that autumn padded requests with zeros to 1,200 bytes.
// The app_id field is 0 where the real one needs more than 16 bits; game_id has
// it. The Ship (2400) puts three bytes before the version and one block of deaths
// and money behind the last player, not between players: remaining bytes are 8 for
// each player in recorded replies. Counts lie: engines count joining players and
// bots that the list does not hold, cut the list at the datagram's end, and
// wrap at 256. The secret of S2A_LOGSTRING2 has no length and no end: the date
// behind it shows where it ends, and without a date all of it may be secret. HLTV
// answers requests by their first letter, whatever follows it.
//
// Frontlines: Fuel of War uses the same opcodes with another
// layout: its rule count is big-endian, and its 'I' has text where the fixed
// bytes belong, so neither passes the tests here. Where they, or that game's own
// question, were seen, its other messages are not taken for A2S either.
//
// # Sources
//
// The Valve developer wiki's "Server queries" (English and French, 2006 to now),
// ReHLDS and Xash3D for what engines write, and recorded replies of about
// fifty games.
//
// # Open questions
//
// EDF bits 02, 04 and 08 have no known meaning: a message that sets them is
// decoded as if they added nothing, and what they did add becomes trailing bytes.
package a2s
