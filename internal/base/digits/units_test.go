package digits

import "testing"

func TestBytes(t *testing.T) {
	for _, tc := range []struct {
		in   float64
		want string
	}{
		{0, "0 B"}, {999, "999 B"}, {1000, "0.977 KiB"}, {1024, "1.00 KiB"}, {1536, "1.50 KiB"}, {102_400, "100 KiB"},
		{1 << 20, "1.00 MiB"}, {123 << 30, "123 GiB"}, {1 << 62, "4.00 EiB"}, {1 << 63 * 1024, "8,192 EiB"},
	} {
		if got := Bytes(tc.in); got != tc.want {
			t.Errorf("%v:\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

func TestShort(t *testing.T) {
	for _, tc := range []struct {
		in   float64
		want string
	}{
		{0, "0"}, {0.0004, "0.000"}, {0.0123, "0.012"}, {0.9994, "0.999"}, {0.9996, "1.00"}, {4.916, "4.92"}, {9.996, "10.0"},
		{31.42, "31.4"}, {99.96, "100"}, {1234.5, "1,235"}, {1e9, "1,000,000,000"},
	} {
		if got := Short(tc.in); got != tc.want {
			t.Errorf("%v:\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}
