package jsonform

import (
	"strings"
	"testing"
)

func TestStreamWritesWhatWriteWrites(t *testing.T) {
	type inner struct {
		A []int  `json:"a"`
		B string `json:"b"`
	}
	v := struct {
		Kind  string  `json:"kind"`
		List  []inner `json:"list"`
		Empty []int   `json:"empty"`
		Last  inner   `json:"last"`
	}{Kind: "<x & y>", List: []inner{{[]int{1, 2}, "p"}, {[]int{}, "\x01"}}, Empty: []int{}, Last: inner{[]int{3}, ""}}
	var want, got strings.Builder
	if err := Write(&want, v); err != nil {
		t.Fatal(err)
	}
	s := NewStream(&got)
	s.Open("", '{')
	s.Put("kind", v.Kind)
	s.Open("list", '[')
	for _, x := range v.List {
		s.Put("", x)
	}
	s.Close()
	s.Open("empty", '[')
	s.Close()
	s.Open("last", '{')
	s.Open("a", '[')
	s.Raw("", "3")
	s.Close()
	s.Put("b", "")
	s.Close()
	s.Close()
	if s.Err != nil || got.String() != want.String() {
		t.Errorf("%v\n%s\nwant\n%s", s.Err, &got, &want)
	}
	broken := NewStream(full{})
	broken.Open("", '[')
	broken.Put("", 1)
	broken.Close()
	if broken.Err == nil {
		t.Error("a writer that fails is no error")
	}
	broken = NewStream(&got)
	broken.Put("", func() {})
	if broken.Err == nil {
		t.Error("a function is JSON")
	}
}
