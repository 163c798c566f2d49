package broker

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerCredentials returns the process and user at the other end of a connection.
func peerCredentials(c net.Conn) (pid, uid int, err error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, 0, errNoCredentials
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	var fail error
	if err := raw.Control(func(fd uintptr) {
		cred, fail = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, 0, err
	}
	if fail != nil {
		return 0, 0, fail
	}
	return int(cred.Pid), int(cred.Uid), nil
}
