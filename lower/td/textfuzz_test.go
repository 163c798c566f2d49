package td

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// FuzzReadText reads any text of tasks: programs that are accepted are written and must be the same when read again.
func FuzzReadText(f *testing.F) {
	f.Add(textHead + "\n")
	f.Add(textHead + "\nprocedure \"x\"\ntask 0, records none\nG1+0x00.0 Common.Win = 1\n")
	f.Add(textHead + "\nprocedure \"x\"\ntask 0, records all\nprocedure \"x\"")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		programs, err := ReadText(text)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := WriteText(&first, programs); err != nil {
			return // a value that does not fit its field
		}
		again, err := ReadText(first.String())
		if err == nil {
			err = WriteText(&second, again)
		}
		if err != nil || first.String() != second.String() {
			t.Errorf("%v: the text changed from\n%s\nto\n%s", err, &first, &second)
		}
	})
}

// FuzzScanImages reads any file of register images: what ScanImages returns must be written back as the same file.
func FuzzScanImages(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	img, err := EncodeV10(randomTask(rng))
	if err != nil {
		f.Fatal(err)
	}
	file, err := EncodeImages([][]byte{img})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add(file[:8])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		images, err := ScanImages(data)
		if err != nil {
			return
		}
		back, err := EncodeImages(images)
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("%d images of %d bytes are written back as %d bytes, %v", len(images), len(data), len(back), err)
		}
	})
}
