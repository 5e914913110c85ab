// Package serve answers over HTTP, for readers only: it has no way to change anything, and nothing
// in it depends on what it serves. Handlers of others are added before it begins.
//
// Whoever connects may be hostile. There are limits on connections, on headers and on time; a
// reader that stalls costs itself and no one else. Requests must name the server in Host by one of
// its names, so that no page in a browser can read it by a name of its own (DNS rebinding). Bound
// to anything but loopback it wants a token.
package serve
