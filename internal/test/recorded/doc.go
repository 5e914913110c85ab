// Package recorded holds qsniff against recordings of programs that were not written here: pcapfiles/recorded has what
// they sent and received, what the clients printed, and what decode.py, which shares no code with qsniff, read in the
// packets. Its tests need neither the programs nor a network. The script record makes the recordings anew, as make
// record.
package recorded
