package cores

import (
	"context"
	"errors"
	"testing"
)

func TestWorkIsLeftBehindWhenTheContextEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	if v, err := Await(ctx, func() (int, error) { return 7, nil }); v != 7 || err != nil {
		t.Errorf("got %d, %v, want what the work returns", v, err)
	}
	begun, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	go func() {
		<-begun
		stop()
	}()
	endless := func() (int, error) {
		close(begun)
		<-never
		return 7, nil
	}
	if v, err := Await(ctx, endless); v != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v, want the context's error", v, err)
	}
	if _, err := Await(ctx, func() (int, error) { t.Error("it began after the end"); return 0, nil }); err == nil {
		t.Error("no error after the end")
	}
}
