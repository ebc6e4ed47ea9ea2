package lab

import (
	"os"
	"testing"
)

// The tests' user has settings of their own.
func TestMain(m *testing.M) {
	settings, err := os.MkdirTemp("", "hop-settings-")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOP_CONFIG", settings)
	code := m.Run()
	os.RemoveAll(settings)
	os.Exit(code)
}
