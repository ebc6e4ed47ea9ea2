package queue

import "context"

// Subject is where jobs that ask for this are published.
func (q *Queue) Subject(a Ask) string { return q.subject(a) }

// Part is how many bytes a message of a file holds.
const Part = part

// Parts returns how long a file of the store is, in how many parts, and how many messages the store has.
func (q *Queue) Parts(ctx context.Context, name string) (size, parts, all int) {
	info, err := q.files.GetInfo(ctx, name)
	if err != nil {
		return 0, 0, 0
	}
	store, err := q.js.Stream(ctx, "OBJ_hop-"+q.Sweep)
	if err != nil {
		return 0, 0, 0
	}
	return int(info.Size), int(info.Chunks), int(store.CachedInfo().State.Msgs)
}
