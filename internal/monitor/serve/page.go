package serve

import (
	"bytes"
	"compress/gzip"
	"net/http"
)

// Page returns a handler of text that stays the same, of a type. policy is the content security policy
// that browsers hold it to. Only the path itself is answered, not what is below it.
func Page(path, contentType, policy string, text []byte) (http.Handler, error) {
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Vary", "Accept-Encoding")
		writeSmall(w, r, text, small.Bytes())
	}), nil
}
