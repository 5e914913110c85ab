package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"qsniff/capture/live"
	"qsniff/capture/packet"
	"qsniff/internal/base/display"
)

// interfaceRow is an interface in output.
type interfaceRow struct {
	Name      string   `json:"name"`
	State     string   `json:"state"` // up, down
	Addresses []string `json:"addresses"`
	Link      string   `json:"link"`
	LinkType  uint16   `json:"link_type"`
	MTU       int      `json:"mtu,omitempty"`
	Loopback  bool     `json:"loopback"`
	Permitted bool     `json:"permitted"`
}

func newInterfaces(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "interfaces [flags]",
		GroupID: groupReference,
		Short:   "list what can be captured on",
		Long: `interfaces lists the network interfaces of this host: name, state, link type, MTU and
addresses, and says what is missing where this program may not capture. "any" stands
for all of them.

Exit status: 0 fine, 1 the system does not tell, 2 wrong usage.`,
		Example: `  qsniff interfaces
  qsniff interfaces -o json       for programs`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	output := addOutputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		all, err := live.Devices()
		if err != nil {
			return err
		}
		permitted := true
		rows := make([]interfaceRow, len(all))
		for i := range all {
			rows[i] = newInterfaceRow(&all[i])
			permitted = permitted && all[i].Permitted
		}
		if err := listInterfaces(s.out, *output, rows); err != nil {
			return err
		}
		if !permitted {
			printError(s.err, errors.New("no right to capture"), live.RightsHint())
		}
		return nil
	}
	return cmd
}

func newInterfaceRow(in *live.Device) interfaceRow {
	state := "down"
	if in.Up {
		state = "up"
	}
	return interfaceRow{Name: in.Name, State: state, Addresses: interfaceAddresses(in), Link: packet.LinkName(in.Link),
		LinkType: in.Link, MTU: in.MTU, Loopback: in.Loopback, Permitted: in.Permitted}
}

func interfaceAddresses(in *live.Device) []string {
	all := make([]string, len(in.Addresses))
	for i, a := range in.Addresses {
		all[i] = a.String()
	}
	return all
}

// listInterfaces prints rows as JSON, or as a table.
func listInterfaces(w io.Writer, output string, rows []interfaceRow) error {
	if output == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for i := range rows {
			if err := enc.Encode(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  name\tstate\tMTU\tlink\taddresses")
	for i := range rows {
		r := &rows[i]
		mtu := "-"
		if r.MTU > 0 {
			mtu = strconv.Itoa(r.MTU)
		}
		where := strings.Join(r.Addresses, " ")
		if r.Name == live.Any {
			where = "all interfaces, also later ones"
		}
		name := display.AppendVisible(nil, []byte(r.Name)) // anyone who starts a container can choose it
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", name, r.State, mtu, r.Link, where)
	}
	return t.Flush()
}
