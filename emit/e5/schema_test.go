package e5

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/flattable"
)

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

// fbsTypes is how the schema spells each kind.
var fbsTypes = map[flattable.Kind]*regexp.Regexp{
	flattable.Uint8:  regexp.MustCompile(`^(OpType|Aperture)$`),
	flattable.Int32:  regexp.MustCompile(`^(int|StorageType|SectionKind)$`),
	flattable.Uint32: regexp.MustCompile(`^uint$`), flattable.Uint64: regexp.MustCompile(`^ulong$`),
	flattable.String: regexp.MustCompile(`^string$`), flattable.Bytes: regexp.MustCompile(`^\[ubyte\]$`),
	flattable.Union: regexp.MustCompile(`^OpAttrs$`), flattable.Texts: regexp.MustCompile(`^\[string\]$`),
	flattable.Uint32s: regexp.MustCompile(`^\[uint\]$`), flattable.Uint64s: regexp.MustCompile(`^\[ulong\]$`),
	flattable.Int32s: regexp.MustCompile(`^\[int\]$`), flattable.Float32s: regexp.MustCompile(`^\[float\]$`),
}

// The table of tables that drives writer and verifier agrees with e5.fbs: the same tables, and in each the same fields
// in the same order.
func TestTablesMatchSchema(t *testing.T) {
	src, err := os.ReadFile("e5.fbs")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`//.*`).ReplaceAllString(string(src), "")
	ours := map[string]*flattable.Table{}
	for _, tab := range attrTables {
		ours[tab.Name] = tab
	}
	for _, tab := range []*flattable.Table{programTable, functionTable, blockTable, operationTable, argFrameTable,
		opAttrsRecordTable,
		aliasTable, buildInfoTable, buildInfoEntryTable, sectionTable, descriptorTable, ioPortTable, operandTable,
		cpuConstantTable} {
		ours[tab.Name] = tab
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
		if len(fields) != len(tab.Fields) {
			t.Errorf("%s: %d fields in e5.fbs, %d in schema.go", tab.Name, len(fields), len(tab.Fields))
			continue
		}
		for i, f := range tab.Fields {
			name, typ, req := fields[i][1], fields[i][2], fields[i][3] != ""
			var ok bool
			switch f.Kind {
			case flattable.Sub:
				ok = typ == f.Of[0].Name
			case flattable.Subs:
				ok = typ == "["+f.Of[0].Name+"]"
			default:
				ok = fbsTypes[f.Kind].MatchString(typ)
			}
			if name != f.Name || req != f.Required || !ok {
				t.Errorf("%s: field %d is %s:%s required %v in e5.fbs, %+v in schema.go", tab.Name, i, name, typ, req,
					f)
			}
		}
	}
	for i, tab := range attrTables {
		if want := OpType(i).String() + "Attrs"; tab.Name != want {
			t.Errorf("operation %s has attributes %s", OpType(i), tab.Name)
		}
		if got := attrsTypes[i].OpType(); got != OpType(i) {
			t.Errorf("operation %s has the attributes of %s", OpType(i), got)
		}
	}
	unions := regexp.MustCompile(`(?s)union OpAttrs \{(.*?)\}`).FindStringSubmatch(text)
	for i, name := range strings.Split(unions[1], ",") {
		if name = strings.TrimSpace(name); i >= len(attrTables) || attrTables[i].Name != name {
			t.Errorf("union member %d is %s in e5.fbs, not in schema.go", i+1, name)
		}
	}
}

// The names of enumerations agree with e5.fbs.
func TestEnumerationsMatchSchema(t *testing.T) {
	src, err := os.ReadFile("e5.fbs")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`//.*`).ReplaceAllString(string(src), "")
	ours := map[string]map[string]int{"OpType": {}, "Aperture": {}, "StorageType": {}, "SectionKind": {}}
	for i, name := range opTypeNames {
		ours["OpType"][name] = i
	}
	for i, name := range apertureNames {
		ours["Aperture"][name] = i
	}
	for st, row := range storageTypes {
		name := map[StorageType]string{Bool: "boolean", String: "str"}[st]
		ours["StorageType"][cmp.Or(name, row.name)] = int(st)
	}
	for k, name := range sectionKindNames {
		short := map[int32]string{kindArgFrame: "arg_frame", kindOpAttrs: "op_attrs"}[k]
		ours["SectionKind"][cmp.Or(short, name)] = int(k)
	}
	enums := regexp.MustCompile(`(?s)enum (\w+) : \w+ \{(.*?)\}`).FindAllStringSubmatch(text, -1)
	if len(enums) != len(ours) {
		t.Errorf("%d enumerations in e5.fbs, want %d", len(enums), len(ours))
	}
	for _, m := range enums {
		next, want := 0, map[string]int{}
		for entry := range strings.SplitSeq(m[2], ",") {
			name, value, ok := strings.Cut(strings.TrimSpace(entry), " = ")
			if ok {
				if next, err = strconv.Atoi(value); err != nil {
					t.Fatal(err)
				}
			}
			want[name] = next
			next++
		}
		if !maps.Equal(ours[m[1]], want) {
			t.Errorf("%s: %v, e5.fbs has %v", m[1], ours[m[1]], want)
		}
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
		for _, n := range root.Values[2].([]*flattable.Node) {
			k := int32(n.Values[1].(uint64))
			seen[k]++
			tab, ok := sectionRoots[k]
			if !ok {
				continue
			}
			v := decode(t, bin, tab.Name, n.Values[2].(flattable.Blob).Data)
			if k == kindOpAttrs && v["attrs_type"] == nil {
				t.Errorf("section %s: %v has no attrs_type", n.Values[0], v)
			}
			if k == kindOperation && !strings.HasSuffix(n.Values[0].(string), v["name"].(string)) {
				t.Errorf("section %s holds operation %s", n.Values[0], v["name"])
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
