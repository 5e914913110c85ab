// Command go-a2s asks the server at the address it is given with github.com/rumblefrog/go-a2s.
package main

import (
	"log"
	"os"

	a2s "github.com/rumblefrog/go-a2s"
)

func main() {
	c, err := a2s.NewClient(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err = c.QueryInfo(); err == nil {
		if _, err = c.QueryPlayer(); err == nil {
			_, err = c.QueryRules()
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}
