// Package testpcap builds the packets and capture files that tests read. It
// turns a payload into a UDP datagram or TCP segments, fragments, tunnels around
// them, frames and a pcap file, answers with ICMP errors, cuts game messages into
// the split forms of the engines, and parses the readable source of a golden
// capture. It is not part of the program: nothing outside
// tests and internal/tools/mkpcap imports it, it decodes nothing, and it does not
// guard against hostile input beyond clear errors, because a person of the
// project wrote what it reads. The same source always gives the same bytes.
//
// # The source of a golden capture
//
// pcapfiles/GROUP/NAME.hex is printable ASCII, so that a hostile server name in
// it cannot act on the terminal or editor that shows it. Its lines are:
//
//	# text             a comment; the first line is one: what this is and its origin
//	@ word arguments   a directive, see below
//	> hex              begins the payload of a datagram, or a write to a TCP
//	                   connection, from client to server
//	< hex              begins one from server to client
//	! hex              begins a whole frame, link header included
//	  hex              an indented line continues what the line above it began
//
// In hex, spaces mean nothing, "text" stands for its bytes (with the escapes
// \0 \n \r \t \\ \" and \xNN), XX*N repeats a byte or "text" N times, and
// ; begins a comment that ends with the line.
//
// Directives about the whole file stand before the first packet:
//
//	@ link TYPE        ethernet (the default), null, raw, sll, sll2, or
//	                   vlan ID [ID], outermost tag first
//	@ tunnel KIND ...  around every IP packet, outermost first: pppoe ID, mpls ID,
//	                   ip ADDR ADDR, gre ID ADDR ADDR, and the same with erspan,
//	                   vxlan, geneve; the first address is on the client's side
//	@ format WORD...   micro (the default) or nano; little (the default) or big
//	@ snaplen N        cuts frames to N bytes
//
// Directives that hold until they are given again:
//
//	@ client ADDR:PORT   @ server ADDR:PORT
//	@ step DURATION    from the last packet of a payload to the next payload, 20ms at first
//	@ mtu N            longest IP packet, 1500 at first; longer ones are fragmented
//	@ ttl N            64 at first; the hop limit in IPv6
//	@ transport KIND   udp at first; tcp: payloads are writes to the connection
//	                   between the ends, which a handshake opens if there is none
//	@ mss N            most bytes of a write in one segment; at first, and at most,
//	                   what the MTU leaves after headers without options
//	@ acks on|off      whether each write is acknowledged, on at first
//
// Directives that send packets of a TCP connection:
//
//	@ open HOW         handshake; syn: the client's SYN alone, which opens nothing;
//	                   none: no packet, the capture began later
//	@ close HOW WHO    fin or rst, sent first or only by client or server
//
// Directives for the next payload only:
//
//	@ wait DURATION    a pause on top of the step
//	@ fragments N,N    which of its IP fragments are captured, in this order
//	@ icmp TYPE CODE   its destination answers with this error, which quotes it
//	@ split goldsource id=N size=N
//	@ split source id=N size=N [compressed]
//	@ split source-old id=N size=N [compressed]
//	@ segments N,N     which segments of this write are captured, in this order
//	@ seek N           where this write begins: -N, on bytes that were sent before,
//	                   perhaps others; +N, after bytes that nobody captured
//	@ isn client=N server=N
//	                   initial sequence numbers, of the next connection
//
// A connection lasts until it is closed or another one of the same ends is opened;
// @ client and @ server change between several. A segment that @ segments leaves
// out was lost to the capture alone: the acknowledgement covers it.
//
// A split payload is the whole message, FF FF FF FF included; size is the
// most bytes of it (compressed: of the compressed form with its prefix) in one
// part. order=N,N lists the parts that are sent, in their order: one that is missing in it
// is lost, one that is in it twice is a duplicate. In a compressed message declared=N and
// crc=N replace the true size and CRC-32 of the prefix. Numbers are decimal or
// 0x hexadecimal. Parts and fragments of one payload are 200 microseconds apart.
package testpcap
