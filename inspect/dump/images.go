package dump

import (
	"cmp"
	"fmt"

	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/lower/td"
)

// imageTask is a register image and its task.
type imageTask struct {
	procedure string
	image     []byte
	at        int64    // in the file
	task      *td.Task // nil if the image does not decode
	err       error
	codec     *td.Codec // nil for td.V7
}

// placed is the task at its place in the file.
func (x *imageTask) placed() td.Placed {
	return td.Placed{Task: x.task, Off: int(x.at), Codec: cmp.Or(x.codec, td.V7)}
}

// imageParts are the parts of a file of register images. A firmware container has the same parts of tasks.
var imageParts []filePart

func init() { // functions of the table print the state
	imageParts = []filePart{
		{name: PartHeaders, print: (*fileDump).imagesHeader, raw: (*fileDump).rawImagesHeader, always: false},
		{name: PartTasks, print: (*fileDump).imageTasks, raw: (*fileDump).rawImages, always: true},
		{name: PartFields, print: (*fileDump).imageTasks, raw: (*fileDump).rawImages, always: false},
		{name: PartTask, print: (*fileDump).imageDetail, raw: (*fileDump).rawImageChosen, always: false},
	}
}

// images prints version-10 images, by default as the text form of their tasks. The values that records have are zero in
// them.
func (c *printer) images(path string, b []byte) error {
	return c.dump(path, b, "images", "a file of register images", imageParts, func(d *fileDump) bool {
		images, err := td.ScanImages(b)
		d.fault(err)
		for i, m := range images {
			x := imageTask{image: m, at: td.ImagesHeader + int64(i)*td.ImageSize}
			if x.task, x.err = td.DecodeV10(m); x.err != nil {
				d.fault(fmt.Errorf("image %d, byte %#x of the file: %w", i, x.at, x.err))
			}
			d.imageSet = append(d.imageSet, x)
		}
		return err == nil || images != nil
	})
}

func (d *fileDump) imagesHeader() {
	groups := node.List("groups")
	for _, g := range td.Groups {
		groups.Add(node.Row("", "{name}\tstruct {struct:#x}\timage {image:#x}\t{registers} registers\tfrom {base:#x}\t"+
			"{contents}\n", g.Name, g.Struct(), g.Image(), g.Words, g.Base, g.Doc))
	}
	d.show(node.Row(PartHeaders, "register images of descriptor version {version}: {+image_size}{images} of "+
		"{-size:#x} bytes\n", td.V10.Version, td.ImageSize, len(d.imageSet), td.ImageSize).Add(groups))
}

func (d *fileDump) rawImagesHeader() {
	d.words(PartHeaders, "", 0, d.span(0, td.ImagesHeader))
}

// imageTasks prints the tasks of images: of a file of images by default in the text form, which can be read back, else
// one line each, with the fields if requested.
func (d *fileDump) imageTasks() {
	if d.j == nil && d.firm == nil && !d.any() {
		p := td.Program{Name: "images"}
		for _, x := range d.imageSet {
			if x.task == nil {
				break
			}
			p.Tasks = append(p.Tasks, x.task)
		}
		d.part()
		d.fail(td.WriteText(&d.out, []td.Program{p}))
		return
	}
	d.procedures()
}

// procedures prints the tasks of each procedure.
func (d *fileDump) procedures() {
	defer d.open("procedures", '[')()
	for i := 0; i < len(d.imageSet); {
		name := d.imageSet[i].procedure
		n := 1
		for i+n < len(d.imageSet) && d.imageSet[i+n].procedure == name {
			n++
		}
		d.imageProcedure(name, d.imageSet[i:i+n])
		i += n
	}
}

// imageProcedure prints the tasks of one procedure.
func (d *fileDump) imageProcedure(name string, list []imageTask) {
	defer d.begin(node.Row("", "procedure {name}: {count} tasks\n", name, len(list)))()
	defer d.open("tasks", '[')()
	for i := range list {
		if x := &list[i]; x.task == nil {
			d.put(node.Text("task %d at %#x, not decoded: %v\n", i, x.at, x.err))
		} else {
			d.task(i, x.placed(), x.at)
		}
	}
}

// chosenImages calls visit for each image that Tasks names: image i of n of its procedure.
func (d *fileDump) chosenImages(visit func(i, n int, x *imageTask)) {
	var counts []procedureTasks
	var at []int // index of the procedure's first image
	for i := range d.imageSet {
		if i == 0 || d.imageSet[i].procedure != d.imageSet[i-1].procedure {
			counts, at = append(counts, procedureTasks{d.imageSet[i].procedure, 0}), append(at, i)
		}
		counts[len(counts)-1].tasks++
	}
	for _, r := range d.Tasks {
		if r.placed {
			d.fail(fmt.Errorf("%s: %s %s: register images have no addresses", d.path, d.name(PartTask), r.text))
			return
		}
	}
	chosen, err := d.chooseTasks(counts)
	if err != nil {
		d.fail(fmt.Errorf("%s: %w", d.path, err))
		return
	}
	for k := range counts {
		for i := range counts[k].tasks {
			if chosen[k](i) && d.err == nil {
				visit(i, counts[k].tasks, &d.imageSet[at[k]+i])
			}
		}
	}
}

func (d *fileDump) imageDetail() {
	defer d.open("task", '[')()
	d.chosenImages(func(i, n int, x *imageTask) {
		if x.task == nil {
			d.fail(fmt.Errorf("%s: %s %d: %w", d.path, d.name(PartTask), i, x.err))
			return
		}
		d.detail(x.procedure, i, n, x.placed(), x.at)
	})
}

func (d *fileDump) rawImages() {
	for i := range d.imageSet {
		d.rawImage(i, &d.imageSet[i])
	}
}

func (d *fileDump) rawImage(i int, x *imageTask) {
	name := fmt.Sprintf("%d", i)
	if x.procedure != "" {
		name += " of procedure " + x.procedure
	}
	d.words(PartTask, name, x.at, x.image)
}

func (d *fileDump) rawImageChosen() {
	d.chosenImages(func(i, _ int, x *imageTask) { d.rawImage(i, x) })
}

// taskTextParts are the parts of the text form of tasks.
var taskTextParts []filePart

func init() { // functions of the table print the state
	taskTextParts = []filePart{
		{name: PartTasks, print: (*fileDump).textTasks, always: true},
		{name: PartFields, print: (*fileDump).textTasks, always: false},
		{name: PartTask, print: (*fileDump).imageDetail, always: false},
	}
}

// taskText prints the text form of tasks, or its JSON.
func (c *printer) taskText(path string, b []byte) error {
	ps, err := td.ReadText(string(b))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.dump(path, b, "tasks", "tasks as text", taskTextParts, func(d *fileDump) bool {
		d.text10 = ps
		for _, p := range ps {
			for _, t := range p.Tasks {
				d.imageSet = append(d.imageSet, imageTask{procedure: p.Name, task: t})
			}
		}
		return true
	})
}

func (d *fileDump) textTasks() {
	if d.j == nil && !d.any() {
		d.fail(td.WriteText(&d.out, d.text10))
		return
	}
	d.imageTasks()
}
