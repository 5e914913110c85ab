// Package goldsrc dissects the server information that GoldSource engines,
// HLTV proxies and their descendants send in forms of their own, and gives its
// name to what arrives in GoldSource's split format. Players, rules and the rest
// have the same bytes on both engines: the dissector given to New reads those.
//
//	FF FF FF FF | 6D 'm' S2A_INFO_DETAILED |
//	    address z, name z, map z, folder z, game z, players u8, max_players u8,
//	    protocol u8, server_type c, environment c, visibility u8, mod u8,
//	    [mod == 1: url z, download_url z, hl_version z, mod_version i32,
//	               mod_size i32, mod_type u8, mod_dll u8,]
//	    [vac u8], [bots u8], [spectators i32, spectator_slots i32]
//
//	FF FF FF FF | 43 'C' S2A_INFO |
//	    address z, name z, map z, folder z, game z, players u8, max_players u8,
//	    protocol u8, [spectators i32, spectator_slots i32]
//
// # Variants
//
// What follows the mod block tells itself by its length: nothing (very old
// servers), 1 byte (vac: HLTV), 2 (vac, bots), 9 (vac, and HLTV's pair where
// spectators or slots do not fit a byte), 10 (all). The third text of the mod
// block is a single NUL on game servers, which old documents call "a byte,
// always 0"; HLTV sends text there. Some games set the mod flag and leave the
// block out: if no block fits, the tail rule is applied to what is there.
//
// # Sources
//
// ReHLDS (engine and HLTV sources), the Valve developer wiki, recorded replies.
package goldsrc
