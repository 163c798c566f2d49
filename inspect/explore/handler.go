package explore

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/mapfault"
)

//go:embed assets
var assetFiles embed.FS

// policy lets the page load only what the server serves, and use only its own style sheet, whose digest it has.
const policy = "default-src 'none'; script-src 'self'; style-src 'sha256-%s'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// front is the page with its style sheet in it, so that one answer is all that the first paint needs.
var front = sync.OnceValue(func() (f struct {
	page   []byte
	policy string
}) {
	const link = `<link rel="stylesheet" href="style.css">`
	page, err := assetFiles.ReadFile("assets/index.html")
	if err != nil {
		panic(err) // the file is embedded
	}
	colors, err := report.Shared.ReadFile("parts.css")
	if err != nil {
		panic(err)
	}
	style, err := assetFiles.ReadFile("assets/style.css")
	if err != nil {
		panic(err)
	}
	style = slices.Concat(colors, style)
	digest := sha256.Sum256(style)
	f.page = bytes.Replace(page, []byte(link), slices.Concat([]byte("<style>"), style, []byte("</style>")), 1)
	f.policy = fmt.Sprintf(policy, base64.StdEncoding.EncodeToString(digest[:]))
	return f
})

// handler answers a request with a value whose JSON form is the body.
type handler func(s *Server, r *http.Request) (any, error)

// viewHandler answers a request about a view. The answer must not refer to the view.
type viewHandler func(s *Server, v *view, r *http.Request) (any, error)

// routes is the API. docs/explore.md has a row for each.
var routes = []struct {
	pattern string
	handler handler
}{
	{"GET /api/models", (*Server).listModels},
	{"GET /api/source", (*Server).source},
	{"GET /api/fields", (*Server).fieldList},
	{"GET /api/progress", (*Server).progress},
	{"POST /api/compile", (*Server).compileRequest},
	{"POST /api/estimate", (*Server).estimateRequest},
	{"POST /api/diff", (*Server).diffRequest},
	{"GET /api/view/{key}/statements", onView(statementList)},
	{"GET /api/view/{key}/ir", onView(irList)},
	{"GET /api/view/{key}/tasks", onView(taskList)},
	{"GET /api/view/{key}/task", onView(oneTask)},
	{"GET /api/view/{key}/container", onLowered(containerView)},
	{"GET /api/view/{key}/chain", onLowered(chainView)},
	{"GET /api/view/{key}/bytes", onLowered(bytesView)},
	{"GET /api/view/{key}/links", onLowered(linksView)},
	{"GET /api/view/{key}/report", onView(reportView)},
	{"GET /api/view/{key}/cost", onView(costView)},
	{"GET /api/view/{key}/drawing", onView(drawingView)},
	{"GET /api/view/{key}/graph", onView(graphView)},
	{"POST /api/view/{key}/advice", onView(adviceView)},
	{"POST /api/view/{key}/explain", onView(explainView)},
	{"POST /api/view/{key}/rewrite", onView(rewriteView)},
	{"POST /api/view/{key}/generations", onView(generationsView)},
	{"POST /api/view/{key}/run", onLowered(runView)},
}

// onView answers for the view that the path names.
func onView(h viewHandler) handler {
	return func(s *Server, r *http.Request) (any, error) {
		v, release, err := s.views.get(r.Context(), r.PathValue("key"), nil)
		if err != nil {
			return nil, err
		}
		defer release()
		return h(s, v, r)
	}
}

// onLowered refuses views that have no pair.
func onLowered(h viewHandler) handler {
	return onView(func(s *Server, v *view, r *http.Request) (any, error) {
		if v.files == nil {
			return nil, &requestError{http.StatusConflict, fmt.Errorf("the compilation has no pair: %w", noPair(v))}
		}
		return h(s, v, r)
	})
}

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range routes {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" {
					fail(w, &requestError{http.StatusUnsupportedMediaType,
						errors.New("the content type must be application/json")})
					return
				}
			}
			r, end := s.jobs.follow(r)
			defer end()
			out, err := rt.handler(s, r)
			if err != nil {
				fail(w, err)
				return
			}
			reply(w, r, out)
		})
	}
	mux.HandleFunc("GET /{file...}", asset)
	return s.guarded(mux)
}

// guarded applies the checks and headers common to all requests.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", front().policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				if err := mapfault.Of(p); err != nil {
					fail(w, err)
					return
				}
				s.log("%s %s: %v\n%s", r.Method, cut(r.URL.Path), p, debug.Stack())
				fail(w, &faultError{errors.New("zinc has failed on this request; see the server's log")})
			}
		}()
		if !s.reached(r.Host) {
			fail(w, &requestError{http.StatusForbidden,
				errors.New("the server does not answer under this host name; add it to the names that it allows")})
			return
		}
		if o := r.Header.Get("Origin"); o != "" {
			if u, err := url.Parse(o); err != nil || !strings.EqualFold(u.Host, r.Host) {
				fail(w, &requestError{http.StatusForbidden, errors.New("the request comes from another page")})
				return
			}
		}
		if r.Method == http.MethodPost {
			if err := s.readBody(w, r); err != nil {
				fail(w, err)
				return
			}
		}
		select {
		case s.busy <- struct{}{}:
			defer func() { <-s.busy }()
		default:
			fail(w, &limitError{"the request", "the limit of concurrent requests is reached; try again later", true})
			return
		}
		debug.SetPanicOnFault(true) // the goroutine is the connection's
		next.ServeHTTP(w, r)
	})
}

// smallest is the minimum size in bytes of a compressed answer.
const smallest = 1 << 10

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return z
}}

// reply writes a value as JSON.
func reply(w http.ResponseWriter, r *http.Request, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the answer is not embedded in HTML
	if err := enc.Encode(v); err != nil {
		fail(w, &faultError{err})
		return
	}
	send(w, r, "application/json", b.Bytes())
}

// send writes a body, compressed if the client accepts it.
func send(w http.ResponseWriter, r *http.Request, kind string, b []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Vary", "Accept-Encoding")
	if len(b) < smallest || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Length", strconv.Itoa(len(b)))
		w.Write(b)
		return
	}
	h.Set("Content-Encoding", "gzip")
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(w)
	z.Write(b) // errors show on the connection
	z.Close()
}

// kinds are the content types of assets.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// asset answers with a file of the page.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if name == "" || name == "index.html" {
		send(w, r, kinds[".html"], front().page)
		return
	}
	kind, ok := kinds[path.Ext(name)]
	if !ok || !fs.ValidPath(name) {
		fail(w, &requestError{http.StatusNotFound, errors.New("page not found")})
		return
	}
	b, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		b, err = report.Shared.ReadFile(strings.TrimPrefix(name, "js/"))
	}
	if err != nil {
		fail(w, &requestError{http.StatusNotFound, errors.New("page not found")})
		return
	}
	send(w, r, kind, b)
}

// body decodes a request's body, which must be one JSON value of known fields.
func body(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		at := d.InputOffset()
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = syntax.Offset
		}
		return bad("body, byte %d: %w", at, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return bad("body, byte %d: unexpected text after the JSON value", d.InputOffset())
	}
	return nil
}

// number returns a query parameter between lo and hi, or def if it is absent.
func number(r *http.Request, name string, lo, hi, def int64) (int64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		if def < lo || def > hi {
			return 0, bad("%s is missing, want %d to %d", name, lo, hi)
		}
		return def, nil
	}
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil || n < lo || n > hi {
		return 0, bad("%s is %q, want %d to %d", name, cut(s), lo, hi)
	}
	return n, nil
}

// page returns the part of a list that the query's offset and limit select.
func page[T any](r *http.Request, list []T, most int64) (*paged[T], error) {
	off, err := number(r, "offset", 0, 1<<40, 0)
	if err != nil {
		return nil, err
	}
	n, err := number(r, "limit", 0, most, most)
	if err != nil {
		return nil, err
	}
	total := int64(len(list))
	off = min(off, total)
	out := list[off : off+min(n, total-off)]
	if out == nil {
		out = []T{}
	}
	return &paged[T]{total, off, out}, nil
}

// paged is a part of a list.
type paged[T any] struct {
	Total  int64 `json:"total"`
	Offset int64 `json:"offset"`
	Rows   []T   `json:"rows"`
}
