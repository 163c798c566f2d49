package protocol

import "testing"

func TestRepliesAreChecked(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []uint64
		ok     bool
	}{
		{"STATS_BUFFER_SIZE_GET", []uint64{0x28, 0x14, 0x10, 0x20}, true}, // listing 29.4
		{"STATS_BUFFER_SIZE_GET", []uint64{0x28, 0x14, 0x10, 0x24}, false},
		{"RESOURCE_INFO_GET", []uint64{1, 64, 128}, true},
		{"RESOURCE_INFO_GET", []uint64{33, 64, 128}, false},
		{"CH_PROPERTY_READ", []uint64{0x10, 0}, true},
		{"PROCEDURE_CALL_CACHE_REQUEST", []uint64{1<<32 | 1}, true},
		{"REQUEST_PROGRAM_ID", []uint64{143}, true},
		{"REQUEST_PROGRAM_ID", []uint64{144}, false},
		{"REQUEST_PROCESS_ID", []uint64{287}, true},
		{"REQUEST_PROCESS_ID", []uint64{288}, false},
	} {
		l := ReplyOf(ByName(tc.name).ID)
		if l == nil {
			t.Errorf("%s has no reply", tc.name)
			continue
		}
		if _, err := NewRecord(l, nil, tc.values...); (err == nil) != tc.ok {
			t.Errorf("%s %d: %v", tc.name, tc.values, err)
		}
	}
	if ReplyOf(0) != nil {
		t.Error("STOP has a reply")
	}
	sum := uint32(0)
	for _, n := range StatsSizes {
		sum += n
	}
	if sum != StatsMinBytes {
		t.Errorf("StatsMinBytes is %#x, want %#x", StatsMinBytes, sum)
	}
}
