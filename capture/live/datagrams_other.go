//go:build !linux

package live

import "net"

func setControl(*net.UDPConn) {}

func (*datagramSocket) readControl([]byte) (nanos int64) { return 0 }
