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

func (d *fileDump) imagesHeader() error {
	groups := node.List("groups")
	for _, g := range td.Groups {
		groups.Add(node.Row("", "{name}\tstruct {struct:#x}\timage {image:#x}\t{registers} registers\tfrom {base:#x}\t"+
			"{contents}\n", g.Name, g.Struct(), g.Image(), g.Words, g.Base, g.Doc))
	}
	return d.show(node.Row(PartHeaders, "register images of descriptor version {version}: {+image_size}{images} of "+
		"{-size:#x} bytes\n", td.V10.Version, td.ImageSize, len(d.imageSet), td.ImageSize).Add(groups))
}

func (d *fileDump) rawImagesHeader() error {
	return d.words(PartHeaders, "", 0, d.span(0, td.ImagesHeader))
}

// imageTasks prints the tasks of images: of a file of images by default in the text form, which can be read back, else
// one line each, with the fields if requested.
func (d *fileDump) imageTasks() error {
	if d.j == nil && d.firm == nil && !d.any() {
		p := td.Program{Name: "images"}
		for _, x := range d.imageSet {
			if x.task == nil {
				break
			}
			p.Tasks = append(p.Tasks, x.task)
		}
		d.part()
		return td.WriteText(d.out, []td.Program{p})
	}
	return d.procedures()
}

// procedures prints the tasks of each procedure.
func (d *fileDump) procedures() error {
	defer d.open("procedures", '[')()
	for i := 0; i < len(d.imageSet); {
		name := d.imageSet[i].procedure
		n := 1
		for i+n < len(d.imageSet) && d.imageSet[i+n].procedure == name {
			n++
		}
		if err := d.imageProcedure(name, d.imageSet[i:i+n]); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// imageProcedure prints the tasks of one procedure.
func (d *fileDump) imageProcedure(name string, list []imageTask) error {
	defer d.begin(node.Row("", "procedure {name}: {count} tasks\n", name, len(list)))()
	defer d.open("tasks", '[')()
	for i := range list {
		x, err := &list[i], error(nil)
		if x.task == nil {
			err = d.put(node.Text("task %d at %#x, not decoded: %v\n", i, x.at, x.err))
		} else {
			err = d.task(i, x.placed(), x.at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chosenImages calls visit for each image that Tasks names: image i of n of its procedure.
func (d *fileDump) chosenImages(visit func(i, n int, x *imageTask) error) error {
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
			return fmt.Errorf("%s: %s %s: register images have no addresses", d.path, d.name(PartTask), r.text)
		}
	}
	chosen, err := d.chooseTasks(counts)
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	for k := range counts {
		for i := range counts[k].tasks {
			if chosen[k](i) {
				if err := visit(i, counts[k].tasks, &d.imageSet[at[k]+i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *fileDump) imageDetail() error {
	defer d.open("task", '[')()
	return d.chosenImages(func(i, n int, x *imageTask) error {
		if x.task == nil {
			return fmt.Errorf("%s: %s %d: %w", d.path, d.name(PartTask), i, x.err)
		}
		return d.detail(x.procedure, i, n, x.placed(), x.at)
	})
}

func (d *fileDump) rawImages() error {
	for i := range d.imageSet {
		if err := d.rawImage(i, &d.imageSet[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *fileDump) rawImage(i int, x *imageTask) error {
	name := fmt.Sprintf("%d", i)
	if x.procedure != "" {
		name += " of procedure " + x.procedure
	}
	return d.words(PartTask, name, x.at, x.image)
}

func (d *fileDump) rawImageChosen() error {
	return d.chosenImages(func(i, _ int, x *imageTask) error { return d.rawImage(i, x) })
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

func (d *fileDump) textTasks() error {
	if d.j == nil && !d.any() {
		return td.WriteText(d.out, d.text10)
	}
	return d.imageTasks()
}
