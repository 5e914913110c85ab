// Package vantages finds servers whose answers take the same time at clients near and far. It compares
// captures that were made at several clients, the vantages, and needs no common clock: each time is the
// difference of two time stamps of one capture. It is not package compare, which follows datagrams from
// one point to another.
//
// A Collector watches the run over one capture. A request goes out and its answer comes back: that time
// goes to the series of the server and the kind of answer. A TCP handshake with the server's host, or an
// ICMP echo, is timed likewise: these come from the host's system, and show how long the path is.
//
// Compare then takes two captures at a time that asked the same server. The path to it is known by the
// most trusted evidence that both have: handshakes, echoes, messages that only the server itself can
// make, other ports of its host. Where the paths differ and the answers do not, something else than the
// server answers, or answers are held back. What an honest server can do to its times does not count: it
// answers once a frame, it is busy, and jitter moves both.
package vantages
