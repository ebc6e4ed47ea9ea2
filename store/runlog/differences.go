package runlog

// Differences says what differs between two specs, as "ppo.lr is 0.01, was 0.001".
func Differences(is, was []byte) string { return differences(is, was) }
