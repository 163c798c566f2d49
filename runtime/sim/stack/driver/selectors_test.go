package driver

import (
	"fmt"
	"testing"
)

// arguments makes the arguments of a size tuple.
func arguments(s Sizes) *IOExternalMethodArguments {
	return &IOExternalMethodArguments{
		ScalarInput: make([]uint64, s.ScalarIn), StructureInput: make([]byte, s.StructIn),
		ScalarOutput: make([]uint64, s.ScalarOut), StructureOutput: make([]byte, s.StructOut),
	}
}

// TestSelectorSizes calls each of the 26 selectors with each of its four sizes
// off by one, both ways, open and not.
func TestSelectorSizes(t *testing.T) {
	d := newDevice(t, Config{})
	tables := map[uint32][]Selector{ControlClient: ControlSelectors, DirectPathClient: DirectPathSelectors}
	calls := 0
	for _, opened := range []bool{false, true} {
		for typ, table := range tables {
			c, r := d.NewUserClient(broker(1), typ)
			if r != Success {
				t.Fatal(r)
			}
			if opened {
				a := arguments(Sizes{ScalarIn: 0, StructIn: 104, ScalarOut: 0, StructOut: 104})
				a.StructureInput[0] = UsageStandard
				if r := c.ExternalMethod(SelDeviceOpen, a); r != Success {
					t.Fatal(r)
				}
			}
			for sel, row := range table {
				for which := range 4 {
					for _, by := range []int{-1, 1} {
						s := row.Sizes
						n := [4]*uint32{&s.ScalarIn, &s.StructIn, &s.ScalarOut, &s.StructOut}[which]
						if *n == 0 && by < 0 {
							continue
						}
						*n += uint32(by)
						calls++
						if r := c.ExternalMethod(uint32(sel), arguments(s)); r != BadArgument {
							t.Errorf("%s selector %d (%s) with %+v: %v", c.Class(), sel, row.Handler, s, r)
						}
					}
				}
			}
			c.Close()
		}
	}
	// Each of 26 selectors has four sizes up, and the 33 that are not zero down.
	if want := 2 * (26*4 + 33); calls != want {
		t.Errorf("%d calls, want %d", calls, want)
	}
}

// TestSelectorsAcceptTheirSizes calls each selector with its exact sizes and zeros: none is refused for its sizes, and
// the returned code depends on the meaning of zeros.
func TestSelectorsAcceptTheirSizes(t *testing.T) {
	d := newDevice(t, Config{})
	want := map[uint32][]Return{
		ControlClient: {BadArgument, Success, Closed, Closed, Closed, Closed, Closed, Success, Closed, Closed, Success,
			Closed, Closed, Closed, Closed, Closed, Unsupported},
		DirectPathClient: {BadArgument, Closed, Closed, Closed, Closed, Closed, Closed, Closed, Closed},
	}
	for typ, table := range map[uint32][]Selector{
		ControlClient:    ControlSelectors,
		DirectPathClient: DirectPathSelectors,
	} {
		c, _ := d.NewUserClient(broker(1), typ)
		if typ == ControlClient {
			a := arguments(Sizes{ScalarIn: 0, StructIn: 104, ScalarOut: 0, StructOut: 104})
			a.StructureInput[0] = UsageStandard
			if r := c.ExternalMethod(0, a); r != Success {
				t.Fatal(r)
			}
			if r := c.ExternalMethod(0, arguments(Sizes{
				ScalarIn:  0,
				StructIn:  104,
				ScalarOut: 0,
				StructOut: 104,
			})); r != BadArgument {
				t.Errorf("usage 0: %v", r)
			}
		}
		for sel, row := range table {
			if sel == 0 && typ == ControlClient {
				continue
			}
			a := arguments(row.Sizes)
			r := c.ExternalMethod(uint32(sel), a)
			if r != want[typ][sel] {
				t.Errorf("%s selector %d (%s): %v, want %v (%v)", c.Class(), sel, row.Handler, r, want[typ][sel],
					a.cause)
			}
			if r != Success && a.cause == nil {
				t.Errorf("%s selector %d (%s): no reason", c.Class(), sel, row.Handler)
			}
		}
		c.Close()
	}
}

// TestReturnCodes checks the three constants that recur in the shims, and the constants of the public notes.
func TestReturnCodes(t *testing.T) {
	for code, want := range map[Return]uint32{BadArgument: 0xe00002c2, Unsupported: 0xe00002c7, Closed: 0xe00002c5,
		NoMemory: 0xe00002bd, NoResources: 0xe00002be,
		NotPrivileged: 0xe00002c1, NotReady: 0xe00002d8, Aborted: 0xe00002eb, NotFound: 0xe00002f0, Timeout: 0xe00002d6,
		GeneralError: 0xe00002bc} {
		if uint32(code) != want {
			t.Errorf("%v is %#x, want %#x", code, uint32(code), want)
		}
	}
	for _, r := range Returns {
		if got := r.Code.String(); got != fmt.Sprintf("%s (%#x)", r.Name, uint32(r.Code)) {
			t.Errorf("%#x prints %s", uint32(r.Code), got)
		}
	}
	if got := Return(5).Error(); got != "IOReturn 0x5" {
		t.Errorf("unknown code prints %s", got)
	}
}

func TestSelector16(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	if r := s.Client().ExternalMethod(16, arguments(Sizes{
		ScalarIn:  3,
		StructIn:  0,
		ScalarOut: 0,
		StructOut: 0,
	})); r != 0xe00002c7 {
		t.Errorf("ANE_LoadFirmware: %v", r)
	}
}
