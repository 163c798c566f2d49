package cost

import (
	"fmt"
	"math"
	"strconv"
)

// Time is a length of time in nanoseconds.
type Time int64

// Microsecond is a thousand nanoseconds.
const Microsecond Time = 1000

// seconds rounds up to nanoseconds. Times that exceed 64 bits become a large number
// that can still be added to others.
func seconds(s float64) Time {
	if ns := math.Ceil(s * 1e9); ns < math.MaxInt32*1e9 {
		return Time(ns)
	}
	return math.MaxInt32 * 1e9
}

// Micros converts microseconds to the nearest nanosecond.
func Micros(us float64) Time { return Time(math.Round(us * float64(Microsecond))) }

// String returns the time in microseconds with three decimals, which is exact.
func (t Time) String() string {
	sign := ""
	if t < 0 {
		sign, t = "-", -t
	}
	return fmt.Sprintf("%s%d.%03d", sign, t/Microsecond, t%Microsecond)
}

// Short returns the time in ns, us, ms or s, with three digits at most.
func (t Time) Short() string {
	v, unit := float64(t), "ns"
	for _, u := range []string{"us", "ms", "s"} {
		// 999.5 would be written as 1e+03.
		if math.Abs(v) < 999.5 {
			break
		}
		v, unit = v/1000, u
	}
	if math.Abs(v) >= 999.5 { // more seconds
		return fmt.Sprintf("%.0f %s", v, unit)
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}

// MarshalJSON writes microseconds.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalJSON reads microseconds.
func (t *Time) UnmarshalJSON(b []byte) error {
	us, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("want a time in microseconds, got %s", b)
	}
	*t = Micros(us)
	return nil
}
