package td

import (
	"bufio"
	"fmt"
	"io"
)

// PrintRecords writes a record stream as text, one line for each record.
func PrintRecords(w io.Writer, rs []Record) error {
	bw := bufio.NewWriter(w)
	fmt.Fprintf(bw, "record stream version %d, %d records of %d bytes\n", RecordVersion, len(rs), RecordSize)
	if err := PrintRecordLines(bw, rs, func(*Record) bool { return true }); err != nil {
		return err
	}
	return bw.Flush()
}

// PrintRecordLines writes a line for each record that wanted accepts.
func PrintRecordLines(w io.Writer, rs []Record, wanted func(r *Record) bool) error {
	bw := bufio.NewWriter(w)
	for i := range rs {
		r := &rs[i]
		if !wanted(r) {
			continue
		}
		fmt.Fprintf(bw, "record %d: task %d, %s register 0x%04x, ", i, r.Task, Groups[r.Group].Name, r.Register)
		switch {
		case r.Slot == 0:
			k, _ := opConfigAt(uint32(r.Register % RegisterWindow))
			fmt.Fprintf(bw, "value %#08x, op-config %s\n", r.Operand, opConfig[k].name)
			continue
		case r.Resolved:
			fmt.Fprintf(bw, "%s at %#x", r.Slot, r.Operand)
		default:
			fmt.Fprintf(bw, "%s unresolved", r.Slot)
		}
		if r.Bar == NoBar {
			fmt.Fprint(bw, ", no buffer-access register")
		} else {
			fmt.Fprintf(bw, ", buffer-access register %d", r.Bar)
		}
		fmt.Fprintf(bw, " + %#x\n", r.Offset)
	}
	return bw.Flush()
}
