package csv

import (
	"strings"
	"testing"
)

// TestTable: cells are members of records, also of objects in them; what is missing, or fits no cell, is empty; texts
// are harmless to a spreadsheet; a record about the run is no row.
func TestTable(t *testing.T) {
	rows := Table{Columns: []string{"server", "name", "times.p50", "list", "isOpen"}}
	nested := Table{Rows: "servers", Columns: []string{"server", "players"}}
	for _, tc := range []struct {
		name, in string
		table    Table
		want     string
	}{
		{"none", "", rows, ""},
		{"values", `{"server":"198.18.0.1:27015","name":"a \"b\", c","times":{"p50":1.50},"list":["x",2],"isOpen":true}`, rows, `198.18.0.1:27015,"a ""b"", c",1.50,x;2,true`},
		{"large number", `{"server":"s","list":18446744073709551615}`, rows, "s,,,18446744073709551615,"},
		{"other kinds", `{"server":"s","name":null,"times":7,"list":{"x":1}}`, rows, "s,,,,"},
		{"formula", `{"server":"s","name":"=1+1"}`, rows, `s,"'=1+1",,,`},
		{"control characters", `{"server":"s","name":"a\u001b[2J"}`, rows, `s,a\x1b[2J,,,`},
		{"about the run", "{\"server\":\"s\"}\n{\"record\":\"interrupted\"}", rows, "s,,,,"},
		{"rows of one record", `{"servers":[{"server":"s","players":3},{"server":"t"}],"clients":[{"server":"u"}]}`, nested, "s,3\r\nt,"},
		{"no rows", `{"servers":7}`, nested, ""},
	} {
		got, err := tc.table.Append(nil, []byte(tc.in))
		want := strings.Join(tc.table.Columns, ",") + "\r\n"
		if tc.want != "" {
			want += tc.want + "\r\n"
		}
		if err != nil || string(got) != want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", tc.name, got, err, want)
		}
	}
	if _, err := rows.Append(nil, []byte(`{"server":`)); err == nil {
		t.Error("half a record is none")
	}
}
