module qsniff/internal/test/recorded/programs

go 1.26.0

require (
	github.com/Tnze/go-mc v1.20.2
	github.com/Unity-Technologies/unity-gaming-services-go-sdk v0.5.4
	github.com/jltobler/go-rcon v0.3.0
	github.com/rumblefrog/go-a2s v1.0.2
)

require (
	github.com/google/uuid v1.3.0 // indirect
	github.com/jedib0t/go-pretty/v6 v6.7.8 // indirect
	github.com/jessevdk/go-flags v1.6.1 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/woozymasta/a2s v0.3.0 // indirect
	github.com/woozymasta/steam v0.1.3 // indirect
	golang.org/x/sys v0.35.0 // indirect
	golang.org/x/text v0.22.0 // indirect
)

tool github.com/woozymasta/a2s/cmd/a2s
