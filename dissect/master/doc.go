// Package master dissects what clients and game servers say to a master server,
// and what it answers: Steam's UDP masters, the WON masters before them, and the
// Xash3D masters that speak the same today. It does not follow a list over its
// pages (one message knows no other), does not read the encrypted connection by
// which current Steam servers register, and leaves A2A_PRINT, which masters send
// too, to GoldSource. Most messages to a master have no FF FF FF FF in front,
// all from it have.
//
//	a client asks for servers
//	  31 '1' A2M_GET_SERVERS_BATCH2   region u8, seed z "ip:port", filter z
//	                                  older: next u32, filter z
//	  65 'e' A2M_GET_SERVERS_BATCH    next u24
//	  63 'c' A2M_GET_SERVERS          0A [00]                      also with FF FF FF FF
//	  4D 'M' C2M_CHECKMD5             FF
//
//	the master answers: FF FF FF FF |
//	  66 'f' M2A_SERVER_BATCH         0A | FF, [7F key u32 reserved u8], entry*
//	                                  older: 0D, next u32, entry*
//	  64 'd' M2A_SERVERS              0A, entry*
//	  4E 'N' M2C_ISVALIDMD5           u8, challenge u32
//
//	  entry: IPv4 address 4, port u16 big-endian
//	         IPv6 address 16, port u16 big-endian                  from an IPv6 master
//	  the entry 0.0.0.0:0 ends the list; without it the last entry is the seed
//	  of the question for the next page
//
//	a game server registers
//	  71 'q' S2M_JOIN                 [0A] | FF [challenge u32]
//	  30 '0' S2M_HEARTBEAT2           0A, (\name\value)*, 0A
//	  61 'a' S2M_HEARTBEAT            0A, decimal numbers in lines
//	  62 'b' S2M_SHUTDOWN             0A [00]
//
//	the master to a game server: FF FF FF FF |
//	  73 's' M2A_CHALLENGE            0A, challenge u32, [echo u32]
//	  4F 'O' M2S_REQUESTRESTART       challenge u32
//	  63 'c' M2S_NAT_CONNECT          " ip:port"
//
// # The filter
//
// \key\value pairs, all of which must hold. \nand\N and \nor\N (old spellings
// \and\N and \or\N) negate the N pairs after them as a group. The text stays a
// field as it was sent; its conditions are listed after it, each with the word
// that negates it. A group within a group has not been seen: the inner one is
// taken to end the outer.
//
// # Variants
//
// Some clients put FF FF FF FF before the query, some leave the last NUL out,
// and one client library writes "nand2" in place of "\nand\2". A Xash3D master
// echoes the filter's key after 7F, so that a client can tell that it was asked;
// a list that begins with the loopback address 127.0.x.x has no key. Its
// documentation has FF after 'f', its program 0A. Xash3D servers join with a
// number of their own, and the challenge brings it back; old ones have none.
//
// # Sources
//
// The Valve developer wiki's "Master Server Query Protocol", xash3d-fwgs and
// xash3d-master for what runs today, steam-condenser's history for heartbeats and
// the MD5 check, qstat for the older lists.
//
// # Open questions
//
// The layout of the old heartbeat is nowhere written down: its lines are kept as
// text. The byte after 'N' has no known meaning. The tag of the older lists is
// opaque; that it is a number is an assumption that makes 0, which ends a list,
// look like it.
package master
