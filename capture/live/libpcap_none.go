//go:build !cgo || !unix

package live

// HasLibpcap reports whether this build has the backend Libpcap.
const HasLibpcap = false

// openLibpcap is not reached: Open says that there is no such backend.
func openLibpcap(target, *Options) (handle, error) { return nil, Libpcap.available() }
