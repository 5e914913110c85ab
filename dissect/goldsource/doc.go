// Package goldsource dissects what GoldSource engines, HLTV proxies and their
// descendants send in forms of their own: server information, questions and
// answers in words, remote console over UDP, log lines. It gives its name to what
// arrives in GoldSource's split format. Players, rules and the rest have the same
// bytes on both engines: the dissector given to New reads those. It does not read
// how a client joins the game, nor the log forms of Source (dissect/a2s).
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
// Words, in any case, which NUL, LF or the end of the datagram ends; z below is
// text with its NUL:
//
//	FF FF FF FF | word [LF] [NUL]
//
//	  ping  info  infostring  details  players  rules      questions
//	  info <protocol>                   from Xash3D: 47 to 49
//	  netinfo <protocol> <context> <type>          from old Xash3D
//	  listen                            to HLTV
//	  getchallenge [steam]              to join the game
//	  challenge rcon                    for remote console
//	  rcon [<challenge>] <password> <command>      quotes around blanks
//	  log L MM/DD/YYYY - HH:MM:SS: ...  to who wants the log
//
//	  infostringresponse NUL (\key\value)* NUL
//	  info LF (\key\value)*             from Xash3D, or a complaint
//	  netinfo <context> <type> (\key\value)*      from old Xash3D
//	  challenge rcon <challenge> LF NUL
//	  print LF text                     from Xash3D: output of rcon
//
// and answers in text after a letter:
//
//	FF FF FF FF | 41 'A' CONNECT_CHALLENGE  "00000000 " challenge " "
//	                     auth_protocol [" " steam_id " " secure] LF NUL
//	FF FF FF FF | 6C 'l' A2A_PRINT          text z [NUL]
//	FF FF FF FF | 47 'G' S2A_PROXY_LISTEN   " 0.0.0.0" LF
//	FF FF FF FF | 4C 'L' S2A_PROXY_REDIRECT address
//
// # Recognition
//
// Words are looked for before letters. Quake and its descendants have some of
// them: ping, info, getchallenge, rcon and print need a second witness, the port,
// the flow or the answer. The others, and rcon with a challenge, do not.
//
// # Secrets
//
// The password of rcon is a field of its own. Where an answer, a command or a log
// line has a password in it, the text is cut into pieces around it, and renderers
// that hide secrets join them again; so it is with the passwords that the client of
// the flow sent before. The number before a password without
// quotes is hidden until a challenge was seen: Xash3D and the oldest servers have
// no challenges, and passwords of digits exist.
//
// # Variants
//
// Game servers end the text of A2A_PRINT with two NULs, HLTV with one. ReHLDS
// writes "secure" of an infostring inverted.
//
// What follows the mod block of S2A_INFO_DETAILED tells itself by its length: nothing (very old
// servers), 1 byte (vac: HLTV), 2 (vac, bots), 9 (vac, and HLTV's pair where
// spectators or slots do not fit a byte), 10 (all). The third text of the mod
// block is a single NUL on game servers, which old documents call "a byte,
// always 0"; HLTV sends text there. Some games set the mod flag and leave the
// block out: if no block fits, the tail rule is applied to what is there.
//
// # Sources
//
// ReHLDS (engine and HLTV sources), Xash3D's description of its connectionless
// packets, the Half-Life SDK's text about the server protocol, the Valve developer
// wiki, recorded replies.
//
// # Open questions
//
// No capture of netinfo, S2A_PROXY_LISTEN or S2A_PROXY_REDIRECT is known: their
// drawing follows the sources of the programs. What a game's library answers to
// words of its own is not decoded.
package goldsource
