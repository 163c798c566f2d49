package memlimit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestSharesFitTheLimit(t *testing.T) {
	defer Set(0)
	Set(100)
	var now, most atomic.Int64
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			n := int64(i)%60 + 1
			giveBack, err := Share(context.Background(), n)
			if err != nil {
				t.Error(err)
				return
			}
			for sum := now.Add(n); ; {
				if m := most.Load(); sum <= m || most.CompareAndSwap(m, sum) {
					break
				}
			}
			now.Add(-n)
			giveBack()
		})
	}
	wg.Wait()
	if most.Load() > 100 {
		t.Errorf("%d bytes at a time, the limit is 100", most.Load())
	}
}

func TestALargeShareIsAlone(t *testing.T) {
	defer Set(0)
	Set(100)
	giveBack, err := Share(context.Background(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Share(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a second share: %v, want to wait", err)
	}
	giveBack()
	if giveBack, err = Share(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	giveBack()
}
