// Package faults holds sweeps to what they promise, with the program itself as processes: that runs
// have the bytes of lone runs, whatever happens to workers, coordinator, network and disks on
// the way. Its tests are small by default; HOP_FAULTS=200 has every fault injected at random over that
// many jobs (docs/sweep.md says what came of it).
package faults
