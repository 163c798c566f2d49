//go:build !linux && !darwin

package broker

import "net"

func peerCredentials(net.Conn) (pid, uid int, err error) { return 0, 0, errNoCredentials }
