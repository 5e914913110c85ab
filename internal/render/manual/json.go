package manual

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// AppendJSON appends rows as lines of JSON, an object each.
func AppendJSON[T any](dst []byte, rows []T) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i := range rows {
		if err := enc.Encode(&rows[i]); err != nil {
			return dst, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return b.Bytes(), nil
}

// Rows returns the rows of all sections.
func Rows[T any](sections []Section[T]) []T {
	var all []T
	for _, s := range sections {
		all = append(all, s.Rows...)
	}
	return all
}
