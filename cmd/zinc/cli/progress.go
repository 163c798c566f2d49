package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progressDelay is how long work takes before a terminal shows its progress without --progress.
const progressDelay = 500 * time.Millisecond

// progressEvery is the time between two refreshes on a terminal.
const progressEvery = 100 * time.Millisecond

// progress shows how far the work is: on a terminal in one line that is overwritten, elsewhere with a line at the start
// and the end of each stage. Its methods may be called concurrently: a run that is cancelled may still report a task.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	asked    bool
	begin    time.Time
	last     time.Time
	width    int // of the text on the terminal's line
	stage    string
	staged   time.Time // when the stage began
	now      func() time.Time
	counted  int   // units that count has counted
	follower *task // receives the progress as events, nil for none
}

func (e *env) newProgress(asked bool) *progress {
	return &progress{w: e.err, terminal: isTerminal(e.err), asked: asked, begin: time.Now(), now: time.Now,
		follower: e.inSession}
}

// follow sends the progress of what comes next, whose units are counted from 0, to a task.
func (p *progress) follow(t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.follower, p.counted, p.stage, p.last = t, 0, "", time.Time{}
}

// count reports that one more unit of a stage is done, of at least total.
func (p *progress) count(stage string, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counted++
	p.show(stage, p.counted, max(p.counted, total))
}

// isTerminal reports whether w is a character device other than the null
// device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// step reports that done of total units of a stage are done.
func (p *progress) step(stage string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(stage, done, total)
}

// show is step for a caller that has locked.
func (p *progress) show(stage string, done, total int) {
	now := p.now()
	if p.follower.follows() && (stage != p.stage || done == total || now.Sub(p.last) >= progressEvery) {
		p.last = now
		p.follower.progress(stage, done, total)
	}
	text := fmt.Sprintf("%s: %d of %d", stage, done, total)
	if stage != p.stage {
		p.staged = now
		defer func() { p.stage = stage }()
	}
	switch {
	case p.terminal && (p.asked || now.Sub(p.begin) >= progressDelay):
		if now.Sub(p.last) < progressEvery {
			return
		}
		p.last = now
		text += share(done, total, now.Sub(p.staged))
		fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", max(0, p.width-len(text))))
		p.width = len(text)
	case !p.terminal && p.asked && (stage != p.stage || done == total):
		fmt.Fprintf(p.w, "zinc: %s\n", text)
	}
}

// share says how much of a stage is done, how long that took, and how long the rest takes at that rate.
func share(done, total int, took time.Duration) string {
	if total <= 0 {
		return ""
	}
	text := fmt.Sprintf(", %d %%", 100*done/total)
	if done <= 0 || took < time.Second {
		return text
	}
	left := time.Duration(float64(took) / float64(done) * float64(total-done))
	return fmt.Sprintf("%s, %s, %s left", text, took.Round(time.Second), left.Round(time.Second))
}

// line reports work of unknown extent.
func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.follower.follows() && now.Sub(p.last) >= progressEvery {
		p.last = now
		p.follower.progress(text, 0, 0)
	}
	switch {
	case p.terminal && (p.asked || now.Sub(p.begin) >= progressDelay) && now.Sub(p.last) >= progressEvery:
		p.last = now
		fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", max(0, p.width-len(text))))
		p.width = len(text)
	case !p.terminal && p.asked:
		fmt.Fprintf(p.w, "zinc: %s\n", text)
	}
}

// end clears the terminal's line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
