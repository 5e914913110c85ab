package a2s

// appName names the Steam applications whose servers are often met. The list is
// for people only: nothing is decided by it.
func appName(id uint64) string {
	switch id {
	case 10:
		return "Counter-Strike"
	case 20:
		return "Team Fortress Classic"
	case 30:
		return "Day of Defeat"
	case 40:
		return "Deathmatch Classic"
	case 50:
		return "Opposing Force"
	case 60:
		return "Ricochet"
	case 70:
		return "Half-Life"
	case 80:
		return "CS: Condition Zero"
	case 130:
		return "Blue Shift"
	case 215:
		return "Source SDK Base 2006"
	case 218:
		return "Source SDK Base 2007"
	case 220:
		return "Half-Life 2"
	case 240:
		return "Counter-Strike: Source"
	case 300:
		return "Day of Defeat: Source"
	case 320:
		return "Half-Life 2: Deathmatch"
	case 360:
		return "Half-Life Deathmatch: Source"
	case 440:
		return "Team Fortress 2"
	case 500:
		return "Left 4 Dead"
	case 550:
		return "Left 4 Dead 2"
	case 630:
		return "Alien Swarm"
	case 730:
		return "Counter-Strike 2, Global Offensive"
	case 1002:
		return "Rag Doll Kung Fu"
	case 2130:
		return "Dark Messiah"
	case 2400:
		return "The Ship"
	case 2450:
		return "Bloody Good Time"
	case 4000:
		return "Garry's Mod"
	case 17500:
		return "Zombie Panic"
	case 17510:
		return "Age of Chivalry"
	case 17520:
		return "Synergy"
	case 17550:
		return "Eternal Silence"
	case 17570:
		return "Pirates, Vikings and Knights II"
	case 17700:
		return "Insurgency mod"
	case 17710:
		return "Nuclear Dawn"
	case 33930:
		return "Arma 2: Operation Arrowhead"
	case 70000:
		return "Dino D-Day"
	case 91700:
		return "E.Y.E"
	case 107410:
		return "Arma 3"
	case 108600:
		return "Project Zomboid"
	case 115300:
		return "Call of Duty: Modern Warfare 3"
	case 203290:
		return "America's Army PG"
	case 211820:
		return "Starbound"
	case 221100:
		return "DayZ"
	case 222880:
		return "Insurgency"
	case 224260:
		return "No More Room in Hell"
	case 225840:
		return "Sven Co-op"
	case 232090:
		return "Killing Floor 2"
	case 242760:
		return "The Forest"
	case 243750:
		return "Source SDK Base 2013"
	case 244630:
		return "Neotokyo"
	case 244850:
		return "Space Engineers"
	case 251570:
		return "7 Days to Die"
	case 252490:
		return "Rust"
	case 253530:
		return "Fortress Forever"
	case 265630:
		return "Fistful of Frags"
	case 282440:
		return "Quake Live"
	case 304930:
		return "Unturned"
	case 346110:
		return "ARK"
	case 362890:
		return "Black Mesa"
	case 365960:
		return "rFactor 2"
	case 393380:
		return "Squad"
	case 418460:
		return "Rising Storm 2"
	case 440900:
		return "Conan Exiles"
	case 489940:
		return "Battalion 1944"
	case 529180:
		return "Dark and Light"
	case 581320:
		return "Insurgency: Sandstorm"
	case 593600:
		return "PixARK"
	case 629760:
		return "Mordhau"
	case 686810:
		return "Hell Let Loose"
	case 736220:
		return "Post Scriptum"
	case 892970:
		return "Valheim"
	case 1604030:
		return "V Rising"
	case 1623730:
		return "Palworld"
	case 1874880:
		return "Arma Reforger"
	}
	return ""
}
