package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/compile/pair"
)

// Remote is a server that keeps pairs for other machines, with the HTTP cache protocol of Bazel: blobs by their SHA-256
// under /cas/, and under /ac/KEY what belongs to a key, an ActionResult of the Remote Execution API (action.go). Any
// server that stores what is PUT and returns it on GET will do.
type Remote struct {
	base    *url.URL
	timeout time.Duration
	client  *http.Client
}

// MaxRemoteBytes bounds a container or descriptor that passes to or from a server, since it passes through memory.
const MaxRemoteBytes = 1 << 30

const (
	maxActionBytes = 64 << 10 // of an ActionResult
	// slowestRate is the rate of bytes below which a transfer is given up.
	slowestRate = 1 << 20 // bytes a second
)

// RemoteError reports a server that failed or that returned something else than what was stored.
type RemoteError struct {
	URL string // without a password
	Err error
}

func (e *RemoteError) Error() string { return "remote cache: " + e.URL + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *RemoteError) Unwrap() error { return e.Err }

// NewRemote returns the server at an http or https URL. Each request may take the timeout and a second more for every
// MiB. Nothing is sent before the first Get or Put.
func NewRemote(address string, timeout time.Duration) (*Remote, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("remote cache: %w", errors.Unwrap(err)) // the error itself quotes the password
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("remote cache %q: want http://HOST[:PORT][/PATH] or https://", u.Redacted())
	case timeout <= 0:
		return nil, fmt.Errorf("remote cache %q: the timeout is %v, want more than 0", u.Redacted(), timeout)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	return &Remote{
		base:    u,
		timeout: timeout,
		client: &http.Client{
			Transport:     t,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// String returns the URL without a password.
func (r *Remote) String() string { return r.base.Redacted() }

// Get returns the pair of a key. The bytes are those that were stored under it: their SHA-256 and their tie to the key
// are checked. That finds a server that confuses, truncates or changes entries, but not one that forges them. The error
// is fs.ErrNotExist if the server does not have the pair, the error of ctx if it ended, otherwise a *RemoteError.
func (r *Remote) Get(ctx context.Context, k pair.Key) (p pair.Pair, err error) {
	b, err := r.get(ctx, "ac", k.String(), maxActionBytes)
	if err != nil {
		return p, err
	}
	a, err := parseAction(b)
	if err == nil && a.seal != a.sealOf(k) {
		err = errors.New("it is the entry of another key, or was changed")
	}
	if err != nil {
		return p, r.failed("ac/"+k.String(), err)
	}
	if p.Container, err = r.blob(ctx, a.container); err != nil {
		return pair.Pair{}, err
	}
	if p.Descriptor, err = r.blob(ctx, a.descriptor); err != nil {
		return pair.Pair{}, err
	}
	p.Summary = a.summary
	return p, nil
}

// Put stores a pair: its blobs first, so that no entry names a blob that is not there. The errors are as in Get.
func (r *Remote) Put(ctx context.Context, k pair.Key, p pair.Pair) error {
	if n := max(len(p.Container), len(p.Descriptor)); n > MaxRemoteBytes {
		return r.failed("cas/", fmt.Errorf("a file of %d bytes, limit %d", n, MaxRemoteBytes))
	}
	a := action{container: blobOf(p.Container), descriptor: blobOf(p.Descriptor), summary: p.Summary}
	a.seal = a.sealOf(k)
	for _, f := range []struct {
		kind, name string
		data       []byte
	}{
		{"cas", hex.EncodeToString(a.container.sum[:]), p.Container},
		{"cas", hex.EncodeToString(a.descriptor.sum[:]), p.Descriptor},
		{"ac", k.String(), a.bytes()},
	} {
		if err := r.put(ctx, f.kind, f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// blob gets a blob and compares it with its digest. A server that has the entry but not its blob has failed.
func (r *Remote) blob(ctx context.Context, d blob) ([]byte, error) {
	name := hex.EncodeToString(d.sum[:])
	b, err := r.get(ctx, "cas", name, d.size)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err // it has been evicted
	case err != nil:
		return nil, err
	case sha256.Sum256(b) != d.sum:
		return nil, r.failed("cas/"+name, fmt.Errorf("%d bytes with another SHA-256; %d were stored", len(b), d.size))
	}
	return b, nil
}

// get returns at most limit bytes; more are an error.
func (r *Remote) get(ctx context.Context, kind, name string, limit int64) ([]byte, error) {
	var data []byte
	err := r.request(ctx, http.MethodGet, kind+"/"+name, nil, limit, func(res *http.Response) error {
		switch {
		case res.StatusCode == http.StatusNotFound:
			return fs.ErrNotExist
		case res.StatusCode != http.StatusOK:
			return fmt.Errorf("GET returned status %s", res.Status)
		}
		b, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
		if err == nil && int64(len(b)) > limit {
			err = fmt.Errorf("more than %d bytes", limit)
		}
		data = b
		return err
	})
	return data, err
}

func (r *Remote) put(ctx context.Context, kind, name string, data []byte) error {
	return r.request(ctx, http.MethodPut, kind+"/"+name, data, int64(len(data)), func(res *http.Response) error {
		if res.StatusCode/100 != 2 {
			return fmt.Errorf("PUT returned status %s", res.Status)
		}
		return nil
	})
}

// request sends a request for n bytes and passes the response to a function.
func (r *Remote) request(ctx context.Context, method, path string, body []byte, n int64,
	then func(*http.Response) error) error {
	limit := r.timeout + time.Duration(n)*time.Second/slowestRate
	timed, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer in %v", limit))
	defer cancel()
	req, err := http.NewRequestWithContext(timed, method, r.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return r.failed(path, err)
	}
	res, err := r.client.Do(req)
	if err == nil {
		defer res.Body.Close()
		err = then(res)
	}
	switch outer := (*url.Error)(nil); {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case timed.Err() != nil:
		err = context.Cause(timed)
	case errors.As(err, &outer):
		err = outer.Err // the URL is in the message already
	}
	return r.failed(path, err)
}

func (r *Remote) failed(path string, err error) error {
	return &RemoteError{strings.TrimSuffix(r.base.JoinPath(path).Redacted(), "/"), err}
}
