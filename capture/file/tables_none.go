//go:build !cgo || !unix

package file

// FreeTables does nothing: this build has no tables of gopacket's, or no way to give back
// their memory.
func FreeTables() {}
