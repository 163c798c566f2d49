package e5

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/e5/internal/fb"
)

// flatcVersion generated the checked-in code; another version may write other bytes.
const flatcVersion = "flatc version 2.0.8"

func flatc(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("flatc")
	if err != nil {
		t.Skip("no flatc (package flatbuffers-compiler): cannot compare with the schema compiler")
	}
	return path
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// The generated code is what flatc makes of e5.fbs.
func TestGeneratedCurrent(t *testing.T) {
	bin := flatc(t)
	if out, err := exec.Command(bin, "--version").Output(); err != nil ||
		strings.TrimSpace(string(out)) != flatcVersion {
		t.Skipf("flatc is %q (%v), the checked-in code is by %q", strings.TrimSpace(string(out)), err, flatcVersion)
	}
	dir := t.TempDir()
	run(t, bin, "--go", "-o", dir, "e5.fbs")
	read := func(dir string) map[string][]byte {
		files := map[string][]byte{}
		names, err := filepath.Glob(filepath.Join(dir, "fb", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(n)] = b
		}
		return files
	}
	want, got := read(dir), read("internal")
	if len(want) == 0 {
		t.Fatal("flatc wrote no file")
	}
	for name, b := range want {
		if !bytes.Equal(got[name], b) {
			t.Errorf("internal/fb/%s is not current: run go generate", name)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("internal/fb/%s comes from nothing in e5.fbs: remove it", name)
		}
	}
}

// fbsTypes is how the schema spells each kind.
var fbsTypes = map[kind]*regexp.Regexp{
	kUint8:  regexp.MustCompile(`^(OpType|Aperture)$`),
	kInt32:  regexp.MustCompile(`^(int|StorageType|SectionKind)$`),
	kUint32: regexp.MustCompile(`^uint$`), kUint64: regexp.MustCompile(`^ulong$`),
	kString: regexp.MustCompile(`^string$`), kBytes: regexp.MustCompile(`^\[ubyte\]$`),
	kUnion: regexp.MustCompile(`^OpAttrs$`), kStrings: regexp.MustCompile(`^\[string\]$`),
	kUint32s: regexp.MustCompile(`^\[uint\]$`), kUint64s: regexp.MustCompile(`^\[ulong\]$`),
	kInt32s: regexp.MustCompile(`^\[int\]$`), kFloat32s: regexp.MustCompile(`^\[float\]$`),
}

// The table of tables that drives writer and verifier agrees with e5.fbs: the same tables, and in each the same fields
// in the same order.
func TestTablesMatchSchema(t *testing.T) {
	src, err := os.ReadFile("e5.fbs")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`//.*`).ReplaceAllString(string(src), "")
	ours := map[string]*table{}
	for _, tab := range attrTables {
		ours[tab.name] = tab
	}
	for _, tab := range []*table{programTable, functionTable, blockTable, operationTable, argFrameTable,
		opAttrsRecordTable,
		aliasTable, buildInfoTable, buildInfoEntryTable, sectionTable, descriptorTable, ioPortTable, operandTable,
		cpuConstantTable} {
		ours[tab.name] = tab
	}
	tables := regexp.MustCompile(`(?s)table (\w+) \{(.*?)\}`).FindAllStringSubmatch(text, -1)
	if len(tables) != len(ours) {
		t.Errorf("%d tables in e5.fbs, %d in schema.go", len(tables), len(ours))
	}
	for _, m := range tables {
		tab := ours[m[1]]
		if tab == nil {
			t.Errorf("table %s is not in schema.go", m[1])
			continue
		}
		fields := regexp.MustCompile(`(\w+):(\S+?)( \(required\))?;`).FindAllStringSubmatch(m[2], -1)
		if len(fields) != len(tab.fields) {
			t.Errorf("%s: %d fields in e5.fbs, %d in schema.go", tab.name, len(fields), len(tab.fields))
			continue
		}
		for i, f := range tab.fields {
			name, typ, req := fields[i][1], fields[i][2], fields[i][3] != ""
			var ok bool
			switch f.kind {
			case kTable:
				ok = typ == f.of.name
			case kTables:
				ok = typ == "["+f.of.name+"]"
			default:
				ok = fbsTypes[f.kind].MatchString(typ)
			}
			if name != f.name || req != f.required || !ok {
				t.Errorf("%s: field %d is %s:%s required %v in e5.fbs, %+v in schema.go", tab.name, i, name, typ, req,
					f)
			}
		}
	}
	for i, tab := range attrTables {
		if got := fb.EnumNamesOpAttrs[fb.OpAttrs(i+1)]; got != tab.name {
			t.Errorf("union member %d is %s in e5.fbs, %s in schema.go", i+1, got, tab.name)
		}
		if want := OpType(i).String() + "Attrs"; tab.name != want {
			t.Errorf("operation %s has attributes %s", OpType(i), tab.name)
		}
	}
	if len(attrTables) != len(attrsReaders) || len(attrTables) != len(fb.EnumNamesOpType) {
		t.Errorf("%d tables, %d readers, %d operation types", len(attrTables), len(attrsReaders),
			len(fb.EnumNamesOpType))
	}
	for st := range storageTypes {
		if _, ok := fb.EnumNamesStorageType[fb.StorageType(st)]; !ok {
			t.Errorf("storage type %s is not in e5.fbs", st)
		}
	}
	if len(storageTypes) != len(fb.EnumNamesStorageType) {
		t.Errorf("%d storage types, %d in e5.fbs", len(storageTypes), len(fb.EnumNamesStorageType))
	}
}

// decode has flatc turn a FlatBuffer into JSON by the checked-in schema.
func decode(t *testing.T, bin, root string, b []byte) map[string]any {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.e5")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"--json", "--strict-json", "--raw-binary", "-o", dir}
	if root != "" {
		args = append(args, "--root-type", "fb."+root)
	}
	run(t, bin, append(args, "e5.fbs", "--", file)...)
	out, err := os.ReadFile(filepath.Join(dir, "x.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("flatc wrote bad JSON: %v\n%s", err, out)
	}
	return v
}

// flatc decodes every file and every nested record with the checked-in schema, and what it compiles from its own JSON
// is read back as the same Program.
func TestFlatcDecodes(t *testing.T) {
	bin := flatc(t)
	for name, p := range map[string]*Program{
		"empty":  {},
		"fused":  fused(0, 64),
		"states": fused(5, 256),
		"every":  every(),
	} {
		t.Run(name, func(t *testing.T) {
			b := mustBytes(t, p)
			v := decode(t, bin, "", b)
			if fmt.Sprint(v["format_version"]) != "4" {
				t.Errorf("format_version %v, want 4", v["format_version"])
			}
			if got, want := len(v["symbol_names"].([]any)), len(p.DeriveSymbols()); got != want {
				t.Errorf("%d symbols, want %d", got, want)
			}
		})
	}
	t.Run("nested", func(t *testing.T) {
		root, err := programNode(every())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int32]int{}
		for _, n := range root.v[2].([]*node) {
			k := int32(n.v[1].(uint64))
			seen[k]++
			tab, ok := sectionRoots[k]
			if !ok {
				continue
			}
			v := decode(t, bin, tab.name, n.v[2].(blob).data)
			if k == kindOpAttrs && v["attrs_type"] == nil {
				t.Errorf("section %s: %v has no attrs_type", n.v[0], v)
			}
			if k == kindOperation && !strings.HasSuffix(n.v[0].(string), v["name"].(string)) {
				t.Errorf("section %s holds operation %s", n.v[0], v["name"])
			}
		}
		for k := range sectionRoots {
			if seen[k] == 0 {
				t.Errorf("no section of kind %d", k)
			}
		}
	})
	t.Run("back", func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "x.e5")
		want := mustBytes(t, fused(0, 64))
		if err := os.WriteFile(file, want, 0o666); err != nil {
			t.Fatal(err)
		}
		run(t, bin, "--json", "--strict-json", "--raw-binary", "-o", dir, "e5.fbs", "--", file)
		run(t, bin, "-b", "-o", dir, "e5.fbs", filepath.Join(dir, "x.json"))
		b, err := os.ReadFile(filepath.Join(dir, "x.bin"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mustBytes(t, mustRead(t, b)), want) {
			t.Error("the file that flatc wrote reads as another Program")
		}
	})
}
