module qsniff/internal/test/clients/go-a2s

go 1.26.0

require github.com/rumblefrog/go-a2s v1.0.2
