package broker

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"sync"
	"time"
)

// headerBytes bounds the part of a message before its body: the name of a method, a number, and the definitions of
// their types.
const headerBytes = 4 << 10

// helloBytes bounds the body of a message of a peer that has not identified itself.
const helloBytes = 64 << 10

// limitReader limits the bytes read of a message. It implements io.ByteReader, so that gob does not buffer its input.
type limitReader struct {
	r           *bufio.Reader
	limit, left int64
}

// begin sets the limit of the next part of a message.
func (l *limitReader) begin(limit int64) { l.limit, l.left = limit, limit }

// errTooLong ends a connection, since the start of the next message is unknown.
type errTooLong struct{ limit int64 }

func (e errTooLong) Error() string {
	return fmt.Sprintf("a message exceeds the limit of %d bytes", e.limit)
}

func (l *limitReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong{l.limit}
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}

func (l *limitReader) ReadByte() (byte, error) {
	if l.left <= 0 {
		return 0, errTooLong{l.limit}
	}
	l.left--
	return l.r.ReadByte()
}

// codec is the server's side of net/rpc's gob coding with limits: on the bytes of a message and of all messages under
// way, on the calls under way, and on the time that a peer takes to accept a reply.
type codec struct {
	conn  net.Conn
	in    limitReader
	dec   *gob.Decoder
	out   *bufio.Writer
	enc   *gob.Encoder
	limit int64
	seq   uint64 // of the request whose body comes next
	write time.Duration
	calls chan struct{} // one token for each call under way
	held  ledger
	peer  *peer
	once  sync.Once
}

func newCodec(c net.Conn, l *Limits, p *peer) *codec {
	k := &codec{conn: c, limit: l.MessageBytes, write: l.Write, calls: make(chan struct{}, l.CallsInFlight), peer: p}
	k.held.room = sync.NewCond(&k.held.mu)
	k.in.r = bufio.NewReader(c)
	k.dec = gob.NewDecoder(&k.in)
	k.out = bufio.NewWriter(c)
	k.enc = gob.NewEncoder(k.out)
	return k
}

// ReadRequestHeader reads the header of the next request and waits for a place. It reads before it waits, so that the
// end of a connection is seen at once unless all places are taken.
func (k *codec) ReadRequestHeader(r *rpc.Request) error {
	k.in.begin(headerBytes)
	if err := k.dec.Decode(r); err != nil {
		k.peer.cancel() // no more requests will come
		return err
	}
	k.calls <- struct{}{} // WriteResponse returns it
	k.held.wait(k.limit)
	k.seq = r.Seq
	return nil
}

// ReadRequestBody reads the body, or skips it when there is no method for it. A body that gob cannot read ends the
// connection.
func (k *codec) ReadRequestBody(body any) error {
	k.in.begin(k.limit)
	if !k.peer.known.Load() {
		k.in.begin(min(k.limit, helloBytes))
	}
	err := k.dec.Decode(body)
	k.held.add(k.seq, k.in.limit-k.in.left)
	if err != nil {
		k.conn.Close() // the rest would be read at the wrong position
		return err
	}
	k.peer.order(body)
	return nil
}

// WriteResponse sends a reply.
func (k *codec) WriteResponse(r *rpc.Response, body any) error {
	defer func() {
		k.held.remove(r.Seq)
		if o, ok := body.(*Answer[Outputs]); ok {
			k.peer.outputs.Add(-int64(len(o.Value.Data)))
		}
		<-k.calls
	}()
	k.conn.SetWriteDeadline(time.Now().Add(k.write))
	err := k.enc.Encode(r)
	if err == nil {
		err = k.enc.Encode(body)
	}
	if err == nil {
		err = k.out.Flush()
	}
	if err != nil {
		k.Close()
	}
	return err
}

// Close closes the connection, once.
func (k *codec) Close() error {
	err := io.ErrClosedPipe
	k.once.Do(func() { err = k.conn.Close() })
	return err
}

// ledger counts the message bytes of a connection's calls under way. Calls with equal numbers, which only a hostile
// peer sends, are distinguished by their order.
type ledger struct {
	mu    sync.Mutex
	room  *sync.Cond
	bytes int64
	calls map[uint64][]int64
}

// wait returns when fewer than the limit's bytes are under way.
func (l *ledger) wait(limit int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.bytes >= limit {
		l.room.Wait()
	}
}

func (l *ledger) add(seq uint64, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[uint64][]int64{}
	}
	l.bytes += n
	l.calls[seq] = append(l.calls[seq], n)
}

func (l *ledger) remove(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ns := l.calls[seq]; len(ns) > 1 {
		l.bytes -= ns[0]
		l.calls[seq] = ns[1:]
	} else if len(ns) == 1 {
		l.bytes -= ns[0]
		delete(l.calls, seq)
	}
	l.room.Broadcast()
}
