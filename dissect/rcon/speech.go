package rcon

import "qsniff/dissect"

// What transcripts show.
var (
	speechAuth         = dissect.Speech{Text: &defPassword, Gist: func(*dissect.Message) string { return "login" }}
	speechAuthResponse = dissect.Speech{Text: &defBody, Gist: loginResult}
	speechText         = dissect.Speech{Text: &defBody, Part: &defPart}
)

// loginResult reads the only sign that a password was refused.
func loginResult(m *dissect.Message) string {
	f := m.Find(&defID)
	switch {
	case f == nil || f.Flags&dissect.Cut != 0:
		return "login, answer cut"
	case int32(f.Num) == failedID:
		return "login refused"
	}
	return "login ok"
}
