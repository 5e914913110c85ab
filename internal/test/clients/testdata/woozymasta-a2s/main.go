// Command woozymasta-a2s asks the server at the address it is given with github.com/woozymasta/a2s.
package main

import (
	"log"
	"os"

	"github.com/woozymasta/a2s/pkg/a2s"
)

func main() {
	c, err := a2s.NewWithString(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err = c.GetInfo(); err == nil {
		if _, err = c.GetPlayers(); err == nil {
			_, err = c.GetRules()
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}
