package td

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// TextMagic opens the text form of tasks. It is followed by the versions of the descriptor and of the form.
const TextMagic = "zinc tasks"

// textHead is the first line: descriptor 10, form 1 of the text.
var textHead = fmt.Sprintf("%s, descriptor %d, text 1", TextMagic, V10.Version)

// Program is the tasks of one procedure, for the text form.
type Program struct {
	Name  string
	Tasks []*Task
}

// WriteText writes programs as text: one line for each nonzero field, with its place in version 10, its name and its
// value in the field's unit, in the order of the image. ReadText returns the same tasks.
func WriteText(w io.Writer, programs []Program) error {
	bw := bufio.NewWriter(w)
	fmt.Fprintln(bw, textHead)
	for _, p := range programs {
		fmt.Fprintf(bw, "\nprocedure %q\n", p.Name)
		for i, t := range p.Tasks {
			if t.err != nil {
				return fmt.Errorf("procedure %s: task %d: %w", p.Name, i, t.err)
			}
			form, err := t.form()
			if err != nil {
				return fmt.Errorf("procedure %s: task %d: %w", p.Name, i, err)
			}
			fmt.Fprintf(bw, "\ntask %d, records %s\n", i, forms[form].name)
			for _, p := range V10.placed {
				if r := p.field.Row(); t.On(p.field) {
					fmt.Fprintf(bw, "  %-20s %s = %d\n", r.Place(V10), r.Name, r.Signed(t.Get(p.field)))
				}
			}
		}
	}
	return bw.Flush()
}

// TextError reports a line of the text form that breaks a rule.
type TextError struct {
	Line int
	Msg  string
}

func (e *TextError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// byName maps the name of a field to the field.
var byName = map[string]Field{}

func indexNames() {
	for f := range table {
		byName[table[f].Name] = Field(f)
	}
}

// ReadText reads what WriteText writes. It skips lines that are empty or begin with #.
func ReadText(src string) ([]Program, error) {
	r := &textReader{}
	for line := range strings.Lines(src) {
		r.line++
		s := strings.TrimSpace(line)
		if s == "" || strings.HasPrefix(s, "#") {
			continue
		}
		if err := r.read(s); err != nil {
			return nil, err
		}
	}
	if !r.begun {
		return nil, r.errf("nothing in it; wanted %q", textHead)
	}
	r.close()
	return r.programs, nil
}

// textReader is the state of reading a text.
type textReader struct {
	line     int
	begun    bool
	programs []Program
	task     *Task
	form     int
	seen     map[Field]bool
}

func (r *textReader) errf(format string, args ...any) error {
	return &TextError{r.line, fmt.Sprintf(format, args...)}
}

func (r *textReader) read(s string) error {
	switch word, rest, _ := strings.Cut(s, " "); {
	case !r.begun:
		r.begun = true
		return r.head(s)
	case word == "procedure":
		name, err := strconv.Unquote(rest)
		if err != nil {
			return r.errf("procedure %s: wanted its name in quotes", rest)
		}
		r.close()
		r.programs = append(r.programs, Program{Name: name})
		return nil
	case word == "task":
		return r.open(rest)
	default:
		return r.field(s)
	}
}

func (r *textReader) head(s string) error {
	if s == textHead {
		return nil
	}
	var version, text int
	if n, _ := fmt.Sscanf(s, TextMagic+", descriptor %d, text %d", &version, &text); n == 2 {
		if _, err := CodecOf(version); err != nil {
			return r.errf("%v", err)
		}
	}
	return r.errf("%q: wanted %q", s, textHead)
}

func (r *textReader) open(rest string) error {
	r.close()
	if len(r.programs) == 0 {
		return r.errf("a task before the first procedure")
	}
	p := &r.programs[len(r.programs)-1]
	index, form, ok := strings.Cut(rest, ", records ")
	if n, err := strconv.Atoi(index); !ok || err != nil || n != len(p.Tasks) {
		return r.errf("task %s: wanted \"task %d, records FORM\"", rest, len(p.Tasks))
	}
	for i := range forms {
		if forms[i].name == form {
			r.task, r.form, r.seen = New(), i, map[Field]bool{}
			p.Tasks = append(p.Tasks, r.task)
			return nil
		}
	}
	return r.errf("records %q: forms are current, full and none", form)
}

func (r *textReader) field(s string) error {
	if r.task == nil {
		return r.errf("%q: no task is open", s)
	}
	parts := strings.Fields(s)
	if len(parts) != 4 || parts[2] != "=" {
		return r.errf("%q: wanted PLACE FIELD = VALUE", s)
	}
	f, ok := byName[parts[1]]
	if !ok {
		if unsupported(parts[1]) {
			return r.errf("%s is not supported on this architecture: the M1 has no compute-cache DMA", parts[1])
		}
		return r.errf("%q is not a field of a task", parts[1])
	}
	p := table[f].Place(V10)
	if want := p.String(); parts[0] != want {
		return r.errf("%s: its place in version 10 is %s, not %s", f, want, parts[0])
	}
	v, err := strconv.ParseInt(parts[3], 0, 33)
	if err != nil {
		return r.errf("%s = %s: no number of 32 bits", f, parts[3])
	}
	if r.seen[f] {
		return r.errf("%s is there twice", f)
	}
	r.seen[f] = true
	if err := r.task.Set(f, int(v)).Err(); err != nil {
		return r.errf("%v", err)
	}
	return nil
}

// close ends the task that is open; its records follow from its form and its fields.
func (r *textReader) close() {
	if r.task != nil {
		r.task.setForm(r.form)
		r.task = nil
	}
}

// unsupported reports a field of the compute-cache DMA engine: its atomic, counter and wait-event primitives, which
// later descriptors have (chapter 23).
func unsupported(name string) bool {
	return slices.Contains([]string{"CacheDMA.Atomic", "CacheDMA.Counter", "CacheDMA.WaitEvent"}, name)
}
