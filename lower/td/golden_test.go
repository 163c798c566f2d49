package td_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// TestGoldenContainersV10 checks that the tasks of every container that Apple's compiler wrote go through version 10,
// and through images and records, and come back as the same words.
func TestGoldenContainersV10(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "*.hwx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no containers: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := hwx.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		var tasks []*td.Task
		for _, p := range f.Procedures() {
			text, off, ok := f.Text().Of(p)
			if !ok {
				t.Fatalf("%s: no text", file)
			}
			chain, err := td.V7.DecodeChain(text, off, p.FirstWords)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, c := range chain {
				tasks = append(tasks, c.Task)
			}
		}
		images, records, err := td.Split(tasks)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		joined, err := td.Join(images, records)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, task := range tasks {
			want, err := td.V7.EncodeWords(task)
			if err != nil {
				t.Fatal(err)
			}
			img, err := td.EncodeV10(task)
			if err != nil {
				t.Fatalf("%s task %d: %v", file, i, err)
			}
			back, err := td.DecodeV10(img)
			if err != nil {
				t.Fatalf("%s task %d: %v", file, i, err)
			}
			for name, got := range map[string]*td.Task{"the image": back, "image and records": joined[i]} {
				if ws, err := td.V7.EncodeWords(got); err != nil || !reflect.DeepEqual(ws, want) {
					t.Errorf("%s task %d: %s gives other words (%v)", filepath.Base(file), i, name, err)
				}
			}
		}
	}
}
