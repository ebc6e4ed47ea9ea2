package cli

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hop-marl/hop/train/registry"
)

// A command line is for all users of a machine to read, and so is a file that says so.
func TestServeTakesATokenOnlyFromWhereOthersCannotRead(t *testing.T) {
	t.Chdir(t.TempDir())
	good, open, empty := "good", "open", "empty"
	for name, mode := range map[string]os.FileMode{good: 0o600, open: 0o644, empty: 0o600} {
		text := "a-token-of-many-letters\n"
		if name == empty {
			text = " \n"
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ words, want string }{
		{"--token a-token-of-many-letters", "can read a command line"},
		{"--token-file none", "none"},
		{"--cache-mb 0", "--cache-mb 0"},
	} {
		code, _, says := hop(t, strings.Fields("serve . --addr :0 "+c.words)...)
		if code != 2 || !strings.Contains(says, c.want) {
			t.Errorf("%s: exit %d, %s, want %q", c.words, code, says, c.want)
		}
	}
	for name, want := range map[string]string{open: "chmod 600", empty: "it is empty"} {
		if _, err := readToken(name); (err == nil || !strings.Contains(err.Error(), want)) && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if token, err := readToken(good); err != nil || token != "a-token-of-many-letters" {
		t.Errorf("%q %v", token, err)
	}
	t.Setenv("HOP_TOKEN", "another-token-of-letters")
	if token, err := readToken(""); err != nil || token != "another-token-of-letters" {
		t.Errorf("%q %v", token, err)
	}
}

// safe is a writer for two.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// The address that is printed is let in, on loopback too, and the same without its token is
// not. With --control there are two, and only one of them may act.
func TestServePrintsAddressesThatHoldTheTokens(t *testing.T) {
	for _, control := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		var said safe
		a := &app{ctx: ctx, reg: registry.New(), out: &said, err: &said}
		no := false
		done := make(chan error, 1)
		go func() {
			done <- serveCmd{Folders: []string{t.TempDir()}, Addr: ":0", Control: control, CacheMB: 1, Open: &no}.Run(a)
		}()
		var list []string
		for range 200 {
			if list = regexp.MustCompile(`http://\S+`).FindAllString(said.String(), -1); strings.Contains(said.String(), "Ctrl-C") {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if want := map[bool]int{false: 1, true: 2}[control]; len(list) != want {
			t.Fatalf("control %v: %q, want %d addresses", control, said.String(), want)
		}
		for i, address := range list {
			base, token, _ := strings.Cut(address, "/?token=")
			for path, want := range map[string]int{"/": 200, "/api/control/jobs": map[bool]int{false: 403, true: 200}[control && i == 1]} {
				r, _ := http.NewRequest("GET", base+path, nil)
				if code := answer(t, r); code != 401 {
					t.Errorf("%s without the token: %d", path, code)
				}
				r.Header.Set("Authorization", "Bearer "+token)
				if code := answer(t, r); code != want {
					t.Errorf("control %v, address %d, %s: %d, want %d", control, i, path, code, want)
				}
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func answer(t *testing.T, r *http.Request) int {
	t.Helper()
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	return w.StatusCode
}
