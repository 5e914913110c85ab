//go:build !cgo || !unix

package live

// HasLibpcap reports whether this build has the backend Libpcap.
const HasLibpcap = false

// openLibpcap is never called: Open refuses the backend before.
func openLibpcap(target, *Options) (handle, error) { return nil, Libpcap.checkAvailable() }
