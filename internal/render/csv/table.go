package csv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Table is what a record of JSON has as lines of CSV. Columns are named by the members of the record, and of its
// objects with a dot before theirs, so that both forms have one name and one value for one thing. What the record
// lacks is an empty cell; a list of words or numbers has semicolons between.
type Table struct {
	Rows    string // the member that has the rows; empty: each record is one
	Columns []string
}

// Tables are those of commands, by their names.
var Tables = map[string]Table{
	"stats": {Rows: "servers", Columns: strings.Fields(`server name map players max_players bots requests replies answered unanswered
		replied proven proven_served late bytes_in bytes_out wire_in wire_out amplification.payload amplification.wire challenged
		challenged_share rtt_ms.p50 rtt_ms.p95 rtt_ms.p99 rtt_ms.max rtt_ms.count challenge_ms`)},
	"polls":  {Columns: strings.Fields(`client server every_ms polls answered late filtered lost challenge_unused rejected server_down undecided`)},
	"proven": {Columns: strings.Fields(`address first last how proofs servers more_servers`)},
	"floods": {Columns: strings.Fields(`id level kind code target protocol class start detected end frame peak_qps mean_qps baseline_qps
		requests replies packets bytes_in bytes_out amplification sources challenged challenge_completion answered proven_served
		confidence campaign`)},
}

// Append appends the line of column names, and a line for each row of records, which are lines of JSON. It returns an
// error for what is no JSON.
func (t Table) Append(dst, records []byte) ([]byte, error) {
	dst = append(append(dst, strings.Join(t.Columns, ",")...), "\r\n"...)
	for lines := json.NewDecoder(bytes.NewReader(records)); lines.More(); {
		lines.UseNumber() // a number is what JSON has, digit by digit
		var record map[string]any
		if err := lines.Decode(&record); err != nil {
			return dst, fmt.Errorf("a record of a table: %w", err)
		}
		if t.Rows == "" {
			if _, isRow := record[t.Columns[0]]; isRow { // the last record can be about the run
				dst = t.appendRow(dst, record)
			}
			continue
		}
		rows, _ := record[t.Rows].([]any)
		for _, row := range rows {
			dst = t.appendRow(dst, row)
		}
	}
	return dst, nil
}

// appendRow appends a line.
func (t Table) appendRow(dst []byte, row any) []byte {
	for i, name := range t.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		value := row
		for member := range strings.SplitSeq(name, ".") {
			object, _ := value.(map[string]any)
			value = object[member]
		}
		lo := len(dst)
		dst = quoteCell(appendJSON(dst, value), lo, ',')
	}
	return append(dst, "\r\n"...)
}

// appendJSON appends a value: nothing for null, and for what no cell holds.
func appendJSON(dst []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendText(dst, []byte(v))
	case json.Number:
		return append(dst, v...)
	case bool:
		return strconv.AppendBool(dst, v)
	case []any:
		for i, x := range v {
			if i > 0 {
				dst = append(dst, ';')
			}
			dst = appendJSON(dst, x)
		}
	}
	return dst
}
