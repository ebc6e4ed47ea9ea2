package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// Workers take turns at sending folders. A thousand that send at once would fill the server's memory with what
// it has not yet on its disk, and mix the parts of their folders in its files, so that each is slow to read and to
// remove. A turn is only a courtesy: nobody answers, or not for long, and the folder is sent all the same.
const (
	turnsAtOnce = 8
	turnLasts   = 10 * time.Second // then the next one's comes: its worker may have died
	turnWait    = 3 * time.Minute  // then the folder is sent without
)

func (q *Queue) turns() string { return "hop." + q.Sweep + ".turn" }

// Turns gives turns until the context ends: the coordinator does.
func (q *Queue) Turns(ctx context.Context) error {
	free := make(chan struct{}, turnsAtOnce)
	sub, err := q.nc.Subscribe(q.turns(), func(m *nats.Msg) {
		go func() {
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-free }()
			short, cancel := context.WithTimeout(ctx, turnLasts)
			defer cancel()
			_, _ = q.nc.RequestWithContext(short, m.Reply, nil) // answered when the folder is sent, or nobody is there any more
		}()
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return nil
}

// turn waits for a turn. What it returns ends it.
func (q *Queue) turn(ctx context.Context) (end func()) {
	end = func() {}
	inbox := nats.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		return end
	}
	defer func() { _ = sub.Unsubscribe() }()
	if q.nc.PublishRequest(q.turns(), inbox, nil) != nil {
		return end
	}
	for last := time.Now().Add(turnWait); ctx.Err() == nil && q.nc.IsConnected() && time.Now().Before(last); {
		m, err := sub.NextMsg(time.Second)
		if err == nil {
			return func() { _ = m.Respond(nil) }
		}
		if !errors.Is(err, nats.ErrTimeout) { // nobody gives turns
			return end
		}
	}
	return end
}
