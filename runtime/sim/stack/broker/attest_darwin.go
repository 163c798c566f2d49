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
	var cred *unix.Xucred
	var fail error
	if err := raw.Control(func(fd uintptr) {
		if cred, fail = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); fail != nil {
			return
		}
		pid, fail = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); err != nil {
		return 0, 0, err
	}
	if fail != nil {
		return 0, 0, fail
	}
	return pid, int(cred.Uid), nil
}
