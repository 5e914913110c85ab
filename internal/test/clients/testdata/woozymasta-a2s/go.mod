module qsniff/internal/test/clients/woozymasta-a2s

go 1.26.0

require github.com/woozymasta/a2s v0.3.0

require github.com/woozymasta/steam v0.1.3 // indirect
