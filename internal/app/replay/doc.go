// Package replay imitates a server that was recorded: it returns for requests the replies
// that the server of a capture gave. It opens no sockets and has no clock; the command does.
// It is no model of a game: what was not asked in the capture is not answered.
//
// A Collector gets the messages of a run of the pipeline. It sorts the requests to each
// server into kinds, and keeps which packets brought the reply to the first request of each
// kind that was answered. Collector.Choose then decides on a server, and Book.Fetch takes the
// datagrams from the capture, which is read a second time: parts and compressed replies are
// sent as they came.
//
// A request arrives. Its protocol's dissector reads it, and without the number that proves
// its sender's address it is compared with those of the capture. If the recorded server
// demanded such a number for it, and the request does not bring the one that belongs to its
// address, the answer is a challenge; else it is the recorded reply.
//
// What an attacker could do with this: forge the address of a victim, to which long replies
// would go. Addresses that prove nothing get nothing longer than their request, unless they
// are of the same machine.
package replay
