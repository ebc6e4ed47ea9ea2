package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The browser is given a file, which this user alone can read, and not the address.
func TestTheTokenIsOnNoCommandLine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("another system's browser")
	}
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	script := "#!/bin/sh\necho \"$@\" > '" + trace + "'; cat \"$1\" >> '" + trace + "'; stat -c %a \"$1\" >> '" + trace +
		"'; echo end >> '" + trace + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	remove, err := openBrowser(`http://127.0.0.1:1/?token=secret&x="`)
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for range 300 {
		if b, _ = os.ReadFile(trace); strings.HasSuffix(string(b), "end\n") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	line, rest, _ := strings.Cut(string(b), "\n")
	if strings.Contains(line, "secret") || !strings.Contains(rest, `url=http://127.0.0.1:1/?token=secret&amp;x=&#34;"`) ||
		!strings.Contains(rest, "\n600\n") {
		t.Errorf("%q\n%s", line, rest)
	}
	remove()
	if _, err := os.Stat(line); err == nil {
		t.Error("the file stays")
	}
}
