package cpu

import (
	"slices"
	"testing"
)

func TestLimitsOfContainersAreFound(t *testing.T) {
	for groups, want := range map[string][]string{
		"0::/a/b\n": {"/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"},
		"5:devices:/x\n4:cpu,memory:/y\n": {
			"/sys/fs/cgroup/memory/y/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		},
		"": nil, "nonsense": nil,
	} {
		if got := limits(groups); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", groups, got, want)
		}
	}
}
