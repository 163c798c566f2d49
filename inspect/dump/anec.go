package dump

import (
	"github.com/zinc-compiler/zinc/emit/anec"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/lower/td"
)

// anecParts are the parts of a program for the Linux driver.
var anecParts []filePart

func init() { // functions of the table print the state
	anecParts = []filePart{
		{name: PartHeaders, print: (*fileDump).anecHeaders, raw: (*fileDump).rawANECHeaders, always: true},
		{name: PartTasks, print: (*fileDump).procedures, raw: (*fileDump).rawImages, always: true},
		{name: PartFields, print: (*fileDump).procedures, raw: (*fileDump).rawImages, always: false},
		{name: PartTask, print: (*fileDump).imageDetail, raw: (*fileDump).rawImageChosen, always: false},
		{name: PartConstants, print: (*fileDump).anecConstants, raw: (*fileDump).rawANECConstants, always: false},
	}
}

// anecProcedure names the program, which the format does not.
const anecProcedure = "net"

// anec prints a program for the Linux driver.
func (c *printer) anec(path string, b []byte) error {
	return c.dump(path, b, "anec", "a program for the Linux driver", anecParts, func(d *fileDump) bool {
		f, err := anec.Read(b)
		if err != nil {
			d.fault(err)
			return false
		}
		d.anecFile = f
		codec, err := td.V7.Full()
		if err != nil {
			d.fault(err)
			return true
		}
		head := int64(len(b) - len(f.Data))
		d.fault(codec.WalkChain(f.Data[:f.TasksSize], 0, int(f.TaskSize/4), func(p td.Placed) error {
			p = p.Clone()
			end := min(p.Off+int(f.TaskSize), len(f.Data))
			d.imageSet = append(d.imageSet, imageTask{
				procedure: anecProcedure, image: f.Data[p.Off:end], at: head + int64(p.Off), task: p.Task, codec: codec,
			})
			return nil
		}))
		return true
	})
}

func (d *fileDump) anecHeaders() { d.show(d.anecFile.Describe()) }

func (d *fileDump) rawANECHeaders() {
	d.words(PartHeaders, "", 0, d.span(0, int64(len(d.b)-len(d.anecFile.Data))))
}

// anecConstants returns the bytes of the constants and their offset in the file.
func (d *fileDump) anecBytes() ([]byte, int64) {
	at := int64(len(d.b)) - int64(d.anecFile.Constants)
	return d.b[at:], at
}

func (d *fileDump) anecConstants() {
	b, at := d.anecBytes()
	d.show(node.Row(PartConstants, "{bytes:#x} bytes of constants at {at:#x} of the file, the first {head}\n",
		len(b), at, headBytes(b)))
}

func (d *fileDump) rawANECConstants() {
	b, at := d.anecBytes()
	d.words(PartConstants, "", at, b)
}
