package inject

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Kind is a kind of fault.
type Kind uint8

// The kinds of faults.
const (
	Drop             Kind = iota // a message is lost
	Delay                        // a message arrives later, in virtual time
	Corrupt                      // a byte of a message changes
	Reorder                      // a message arrives after its successor
	TranslationFault             // an access of the engine finds no page
	StuckQueue                   // a task queue does not drain
	Exception                    // the firmware takes a processor exception
	Crash                        // the firmware stops at a step

	NumKinds = iota
)

// Site is a place where faults can be injected.
type Site uint8

// The sites. Each message, access, submission, step or task passes its site once.
const (
	Post   Site = iota // a command from the host to the firmware
	Note               // a notification from the firmware to the host
	Access             // a memory access of the engine
	Queue              // a submission to a hardware queue
	Step               // a message handled by the firmware
	Task               // a task about to run on the engine

	NumSites = iota
)

var siteNames = [NumSites]string{"post", "note", "access", "queue", "step", "task"}

// String returns the site's name.
func (s Site) String() string {
	if s >= NumSites {
		return fmt.Sprintf("site %d", uint8(s))
	}
	return siteNames[s]
}

// Row is one line of Kinds.
type Row struct {
	Kind  Kind
	Name  string
	Sites []Site // where it can be injected; the first is the default
	Doc   string
}

// Kinds lists the faults.
var Kinds = [NumKinds]Row{
	{Kind: Drop, Name: "drop", Sites: []Site{Post, Note}, Doc: "a message is lost on its way"},
	{Kind: Delay, Name: "delay", Sites: []Site{Post, Note}, Doc: "a message arrives late"},
	{Kind: Corrupt, Name: "corrupt", Sites: []Site{Post, Note}, Doc: "one byte of a message changes on its way"},
	{Kind: Reorder, Name: "reorder", Sites: []Site{Post, Note}, Doc: "a message arrives after its successor"},
	{Kind: TranslationFault, Name: "translation", Sites: []Site{Access}, Doc: "an access of the engine finds no page"},
	{Kind: StuckQueue, Name: "stuck", Sites: []Site{Queue}, Doc: "a task queue does not drain"},
	{Kind: Exception, Name: "exception", Sites: []Site{Step, Task}, Doc: "the firmware takes a processor exception"},
	{Kind: Crash, Name: "crash", Sites: []Site{Step, Task, Post, Note}, Doc: "the firmware stops at a step"},
}

// String returns the kind's name.
func (k Kind) String() string {
	if k >= NumKinds {
		return fmt.Sprintf("fault %d", uint8(k))
	}
	return Kinds[k].Name
}

// Fault is one fault to inject.
type Fault struct {
	Kind  Kind
	Site  Site
	Value uint64        // from the seed: which byte, which register
	Delay time.Duration // of Delay, virtual
}

// Rule says when one kind of fault is injected at one site.
type Rule struct {
	Kind  Kind
	Site  Site
	After uint64        // passages before the first that may fault
	Every uint64        // of those, every n-th may fault; 0 means 1
	Count uint64        // maximum number of faults; 0 means no limit
	P     float64       // probability at each of those passages; 0 means 1
	Delay time.Duration // of Delay; 0 means DefaultDelay
}

// DefaultDelay is the delay of a message if the rule has none.
const DefaultDelay = 500 * time.Microsecond

// MaxDelay bounds the delay in a rule.
const MaxDelay = time.Minute

// Spec is a list of rules. At each passage the first rule that applies injects its fault.
type Spec []Rule

// SyntaxError reports a specification that does not parse.
type SyntaxError struct {
	Off  int    // byte offset
	Text string // the text at the offset
	Rule string // what is allowed
}

// Error returns the offset, the text and the rule.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("byte %d, %q: %s", e.Off, e.Text, e.Rule)
}

// Parse reads a specification: rules separated by semicolons, each
//
//	KIND[@SITE][:KEY=VALUE,...]
//
// with the keys after, every, count, p and delay, as in
// "drop@post:after=3,count=1; delay:delay=2ms,p=0.1".
func Parse(spec string) (Spec, error) {
	var s Spec
	at := 0
	for part := range strings.SplitSeq(spec, ";") {
		r, err := parseRule(part, at)
		if err != nil {
			return nil, err
		}
		s = append(s, r)
		at += len(part) + 1
	}
	return s, nil
}

func parseRule(part string, at int) (Rule, error) {
	head, opts, hasOpts := strings.Cut(part, ":")
	name, site, hasSite := strings.Cut(strings.TrimSpace(head), "@")
	k := slices.IndexFunc(Kinds[:], func(r Row) bool { return r.Name == name })
	if k < 0 {
		var names []string
		for _, r := range Kinds {
			names = append(names, r.Name)
		}
		return Rule{}, &SyntaxError{at, name, "unknown fault; want one of " + strings.Join(names, ", ")}
	}
	row := Kinds[k]
	r := Rule{Kind: row.Kind, Site: row.Sites[0]}
	if hasSite {
		i := slices.IndexFunc(row.Sites, func(x Site) bool { return x.String() == site })
		if i < 0 {
			return Rule{}, &SyntaxError{at, site, fmt.Sprintf("%s cannot be injected there; its sites are %v", name,
				row.Sites)}
		}
		r.Site = row.Sites[i]
	}
	if !hasOpts {
		return r, nil
	}
	off := at + len(head) + 1
	for o := range strings.SplitSeq(opts, ",") {
		key, val, _ := strings.Cut(strings.TrimSpace(o), "=")
		if err := r.set(key, val); err != nil {
			return Rule{}, &SyntaxError{off, strings.TrimSpace(o), err.Error()}
		}
		off += len(o) + 1
	}
	return r, nil
}

// set reads one option.
func (r *Rule) set(key, val string) error {
	n := map[string]*uint64{"after": &r.After, "every": &r.Every, "count": &r.Count}[key]
	switch {
	case n != nil:
		v, err := strconv.ParseUint(val, 10, 32)
		if err != nil {
			return fmt.Errorf("%s must be an integer from 0 to 2^32-1", key)
		}
		*n = v
	case key == "p":
		v, err := strconv.ParseFloat(val, 64)
		if err != nil || !(v > 0 && v <= 1) {
			return fmt.Errorf("p must be a probability above 0 and at most 1")
		}
		r.P = v
	case key == "delay":
		v, err := time.ParseDuration(val)
		if err != nil || v <= 0 || v > MaxDelay {
			return fmt.Errorf("delay must be a time above 0 and at most %v, such as 2ms", MaxDelay)
		}
		r.Delay = v
	default:
		return fmt.Errorf("unknown key; want after, every, count, p or delay")
	}
	return nil
}

// String returns the specification in the form that Parse reads.
func (s Spec) String() string {
	var rules []string
	for _, r := range s {
		t := r.Kind.String() + "@" + r.Site.String()
		sep := ":"
		put := func(key, val string) {
			t += sep + key + "=" + val
			sep = ","
		}
		for _, n := range []struct {
			key string
			val uint64
		}{{"after", r.After}, {"every", r.Every}, {"count", r.Count}} {
			if n.val != 0 {
				put(n.key, strconv.FormatUint(n.val, 10))
			}
		}
		if r.P != 0 {
			put("p", strconv.FormatFloat(r.P, 'g', -1, 64))
		}
		if r.Delay != 0 {
			put("delay", r.Delay.String())
		}
		rules = append(rules, t)
	}
	return strings.Join(rules, "; ")
}

// Injector decides at each passage of a site.
type Injector struct {
	mu    sync.Mutex
	rules []rule
	rand  *rand.Rand
	made  [NumKinds]uint64
}

// rule is a Rule with its state.
type rule struct {
	Rule
	passed, made uint64
}

// New returns an injector.
func New(s Spec, seed uint64) *Injector {
	i := &Injector{rand: rand.New(rand.NewPCG(seed, 0x7a696e63))}
	for _, r := range s {
		i.rules = append(i.rules, rule{Rule: r})
	}
	return i
}

// At is called once for each passage of a site. It returns the fault to inject there, or false.
func (i *Injector) At(s Site) (Fault, bool) {
	if i == nil {
		return Fault{}, false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var f Fault
	hit := false
	for k := range i.rules {
		r := &i.rules[k]
		if r.Site != s {
			continue
		}
		r.passed++
		if hit || r.passed <= r.After || (r.passed-r.After-1)%max(r.Every, 1) != 0 || r.Count != 0 &&
			r.made >= r.Count {
			continue
		}
		if r.P != 0 && i.rand.Float64() >= r.P {
			continue
		}
		hit = true
		r.made++
		i.made[r.Kind]++
		f = Fault{Kind: r.Kind, Site: s, Value: i.rand.Uint64()}
		if r.Kind == Delay {
			if f.Delay = r.Delay; f.Delay == 0 {
				f.Delay = DefaultDelay
			}
		}
	}
	return f, hit
}

// Made returns how many faults of a kind were injected.
func (i *Injector) Made(k Kind) uint64 {
	if i == nil || k >= NumKinds {
		return 0
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.made[k]
}
