package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fact is a statement of a chapter outside its numbered tables, or one that a command shows.
type fact struct {
	chapter int
	what    string
	command string // that shows it; scripts or commands.md run it
	test    string // package and test that prove it
}

// stackTest and driverTest shorten the names of the packages below.
const (
	simTest         = "runtime/sim "
	stackTest       = "runtime/sim/stack "
	driverTest      = "runtime/sim/stack/driver "
	coprocessorTest = "runtime/sim/stack/coprocessor "
	brokerTest      = "runtime/sim/stack/broker "
	cliTest         = "cmd/zinc/cli "
)

// facts lists them in the order of the chapters.
var facts = []fact{
	{chapter: 2, what: "a call of a small graph takes about 190 us, 98 % of it software",
		command: "zinc run d.hwx --random 7 --timing",
		test:    stackTest + "TestTraceHasTheStagesOfADispatch"},
	{chapter: 2, what: "the engine's work grows with the graph: a run takes the estimate of its report",
		command: "zinc run d.hwx --random 7 --timing",
		test:    stackTest + "TestBundledModelsRunThroughTheStack"},
	{chapter: 2, what: "the submission takes about 163 us, and two interrupts come", command: "zinc stack d.hwx",
		test: stackTest + "TestTraceHasTheStagesOfADispatch"},
	{chapter: 2, what: "the runtime compiles and loads a model once, then dispatches it for each run",
		command: "zinc run count.mil --steps 4 --trace compiled.json",
		test:    stackTest + "TestModelIsCompiledOnceAndDispatchedManyTimes"},
	{chapter: 2, what: "several programs of several processes share the engine", command: "zinc load",
		test: stackTest + "TestCrowdLosesNothing"},
	{chapter: 2, what: "one firmware command at a time, the most urgent waiting one next", command: "zinc load",
		test: stackTest + "TestUrgentClientsWaitLess"},
	{chapter: 2, what: "a call waits for shared events and signals them",
		command: "zinc device d.hwx --signal 7=1 --signal gpu:8=3 --wait 7=1",
		test:    cliTest + "TestScripts"},
	{chapter: 2, what: "a submission with a timeout", command: "zinc run d.hwx --random 7 --timeout 150us",
		test: cliTest + "TestScripts"},
	{chapter: 2, what: "a secure tenant claims the engine alone", command: "zinc device send SECURE_MODE_START",
		test: stackTest + "TestSecureTenantOwnsTheEngine"},
	{chapter: 2, what: "a state stays on the device: no cast copies it between two runs",
		command: "zinc run count.hwx --steps 4 --trace steps.json",
		test:    simTest + "TestStateStaysOnTheDevice"},
	{chapter: 2, what: "one buffer bound to an output and an input stays on the device",
		command: "zinc run count.hwx --steps 4 --trace steps.json",
		test:    simTest + "TestBufferOfOutputAndInputStaysOnTheDevice"},
	{chapter: 23, what: "one pair serves several shapes of a range", command: "zinc range.mil --shape",
		test: "compile TestOnePairHasSeveralShapesOfARange"},
	{chapter: 27, what: "three kernel extensions, registry and properties", command: "zinc device",
		test: driverTest + "TestPublishedProperties"},
	{chapter: 27, what: "every selector of the three user clients", command: "zinc device selector",
		test: stackTest + "TestSelectorsReachTheirHandlers"},
	{chapter: 27, what: "the debug selectors exist in internal builds", command: "zinc device selector 11 --internal",
		test: stackTest + "TestReleaseBuildsRefuseTheDebugSelectors"},
	{chapter: 27, what: "methods of the direct-path client", command: "zinc device method",
		test: driverTest + "TestMethodsOfTheDirectPath"},
	{chapter: 27, what: "asynchronous submission completes at a wake port", command: "zinc load",
		test: stackTest + "TestCrowdLosesNothing"},
	{chapter: 27, what: "the broker is a process of its own", command: "zinc serve --socket",
		test: cliTest + "TestServedMachineSurvivesKilledClients"},
	{chapter: 27, what: "entitlements admit classes of service", command: "zinc serve --socket",
		test: cliTest + "TestServedMachineRunsModels"},
	{chapter: 27, what: "an adapter on a base model that is loaded once", command: "zinc serve --socket",
		test: cliTest + "TestLibraryDialsAServedMachine"},
	{chapter: 27, what: "the direct path with handles from the broker", command: "zinc load",
		test: stackTest + "TestCrowdLosesNothing"},
	{chapter: 29, what: "tasks, pools and channels of the firmware", command: "zinc device",
		test: coprocessorTest + "TestTasksWaitWithoutWork"},
	{chapter: 29, what: "the statistics buffer of a call", command: "zinc device d.hwx --section statistics",
		test: stackTest + "TestStatisticsBufferHasTheCall"},
	{chapter: 29, what: "a fault's dump has ten sections, which the host drains",
		command: "zinc device d.hwx --inject exception@task",
		test:    coprocessorTest + "TestDumpsHaveTheirPartsInOrder"},
	{chapter: 29, what: "power status of the engine and the memory cache", command: "zinc device",
		test: stackTest + "TestDriverServesTheCommandsThatTheFirmwareDoesNotHandle"},
	{chapter: 29, what: "EXEC-SECURE and PAUSE", command: "zinc device send SECURE_MODE_START",
		test: stackTest + "TestSecureTenantOwnsTheEngine"},
	{chapter: 29, what: "data chaining over the direct path", command: "zinc device selector 4 --client direct",
		test: stackTest + "TestSelectorsReachTheirHandlers"},
	{chapter: 30, what: "commands that the kernel extension serves", command: "zinc device send BUILDINFO",
		test: stackTest + "TestDriverServesTheCommandsThatTheFirmwareDoesNotHandle"},
	{chapter: 30, what: "fourteen notifications", command: "zinc device send TRACE_ENABLE 1",
		test: stackTest + "TestFirmwareEmitsEveryNotification"},
	{chapter: 30, what: "the property channel", command: "zinc device send CH_PROPERTY_READ",
		test: stackTest + "TestDriverServesTheCommandsThatTheFirmwareDoesNotHandle"},
}

func writeFacts(w *bytes.Buffer) {
	head(w, "chapter", "fact", "command", "package and test")
	for _, f := range facts {
		pkg, test, _ := strings.Cut(f.test, " ")
		row(w, strconv.Itoa(f.chapter), f.what, "`"+f.command+"`", "`"+pkg+"` "+test)
	}
}

// TestFactsAreShownAndProved checks that the test of each fact exists, and that a script or commands.md runs a command
// that begins as the fact's.
func TestFactsAreShownAndProved(t *testing.T) {
	scripts, err := filepath.Glob("../cmd/zinc/cli/testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var run strings.Builder
	for _, name := range append(scripts, "commands.md") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		run.Write(b)
	}
	for _, f := range facts {
		if !strings.Contains(run.String(), f.command) {
			t.Errorf("chapter %d, %s: no script and no page runs %q", f.chapter, f.what, f.command)
		}
		pkg, name, _ := strings.Cut(f.test, " ")
		files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(b, []byte("\nfunc "+name+"("))
		}
		if !found {
			t.Errorf("chapter %d, %s: package %s has no %s", f.chapter, f.what, pkg, name)
		}
	}
}
