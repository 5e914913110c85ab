// Package consoletest generates the forms in which texts of consoles name a secret. It
// is imported by tests only.
package consoletest

import (
	"slices"
	"strings"
)

// Mark is in every secret of a form, and nowhere else in it.
const Mark = "Zq"

// The forms in which texts name a secret: each list is one part, and each combination
// of parts is a form. The secret must never be shown.
var (
	names = []string{"rcon_password", "sv_password", "SV_PASSWORD", "rconpassword", "adminpassword", "tv_relaypassword",
		"sv_password2", "rcon_password_1", "rcon.password", "rcon-password", "rcon password", "RCON Password", "sv_logsecret", "logaddress_secret",
		"sv_setsteamaccount", "_pw", "rcon_pass", "webapi_authkey", "AdminLogin", "EnableCheats", "#login", "/login",
		"The rcon password", "x; rcon_password", "L 07/05/2008 - 19:13:44: rcon_password"}
	plainNames = []string{"password", "Password", "passwd", "pwd", "secret", "token", "passphrase", "The server password", "Joe's password"}
	before     = []string{"", "^2", "§c", "\xa7c", "&4", "\x1b[31m", "\x1b[0;1m", "\x07FF0000", "\x08FF0000ff", "\x01", "**", "|", "| ", "[", "(", "{", "<", "/", "#",
		"@", "\"", "'", "`", "\\\"", "{\"", "<b>", "-", "- ", "+", "$", "~", "\x00", ";", "\t", "cfg: "}
	after = []string{"", "^7", "§r", "\xa7r", "&r", "\x1b[0m", "\x07FFFFFF", "\x01", "**", "*", "]", ")", "}", "\"", "'", "`", "\\\"", "</b>", "_", "~"}
	// separators stand between any name and its value.
	separators = []string{":", ": ", " : ", "=", " = ", " := ", " => ", " -> ", "|", " | ", "[", "/", "#", "@", "<", "\x00", "\x1f",
		": \"", "\":\"", "\" : \"", "\": '", "='", "\t", ":\n", ": \r\n", " =\n\n  ", ":\r", "\n: ", "\n\"", " is ", " is: ", " is \"", " was ", " is\n", ":^7 ", ":^7\n", ": **\n",
		": §r\n", "\x1b[0m:\x1b[1m\n\x1b[3m", " -\n"}
	// blanks stand between the name of a variable and its value, too.
	blanks    = []string{" ", "  ", " \"", " '", ";", ",", "^", "]["}
	following = []string{"", "\"", "'", "^7", "§r", "\n", "\x00", "**", "\"}", "\"\nhostname: x\n", "</b>", " from", "; status", ")"}
	secrets   = []string{"Zq8", "Zq8 xZq", "Zq8;Zq", "~Zq8", "=Zq8!", "Zq8'Zq"}
)

// Parts is how many parts a form has.
const Parts = 6

// Sizes are the lengths of the lists that the parts are chosen from.
func Sizes() [Parts]int {
	return [Parts]int{len(before), len(after), len(following), len(secrets), max(len(names), len(plainNames)), len(separators) + len(blanks)}
}

// Form builds the form of the parts that n chooses, with the name of a variable or,
// where plain is set, with a word that sentences have, too.
func Form(plain bool, n [Parts]int) string {
	at := func(list []string, i int) string { return list[i%len(list)] }
	lead, tail, end, secret := at(before, n[0]), at(after, n[1]), at(following, n[2]), at(secrets, n[3])
	name, sep := at(names, n[4]), at(slices.Concat(separators, blanks), n[5])
	if plain {
		name, sep = at(plainNames, n[4]), at(separators, n[5])
	}
	if name[0] == '#' || name[0] == '/' {
		lead = "" // the mark is what makes it a command
	}
	if tail == "_" { // part of the name
		tail = ""
	}
	if !strings.HasSuffix(sep, `"`) { // it would be one more separator
		secret = strings.TrimPrefix(secret, "=")
	}
	return lead + name + tail + sep + secret + end
}
