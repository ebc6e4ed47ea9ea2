package trust

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hop-marl/hop/num/disk"
)

// user returns somebody with settings of their own.
func user(t *testing.T) Trust { return Trust{Config: filepath.Join(t.TempDir(), "hop")} }

func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{t.TempDir()}, names...)...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatOneSignedIsTrustedByOneself(t *testing.T) {
	me, other, dir := user(t), user(t), folder(t, "a", "seed-1")
	must(t, me.Sign(filepath.Dir(dir), []string{"run a", "run b"}))
	for _, c := range []struct {
		name string
		who  Trust
		what []string
		want bool
	}{
		{"nothing", other, nil, true},
		{"what was signed above", me, []string{"run a", "run b"}, true},
		{"a part of it", me, []string{"run b"}, true},
		{"a line more", me, []string{"run a", "run c"}, false},
		{"somebody else", other, []string{"run a"}, false},
		{"somebody else who trusts all", Trust{Config: other.Config, All: true}, []string{"run a"}, true},
	} {
		if got := c.who.Trusts(dir, c.what); got != c.want {
			t.Errorf("%s: trusted %v, want %v", c.name, got, c.want)
		}
	}
	must(t, other.Sign(dir, []string{"run a"}))
	if !me.Trusts(dir, []string{"run a"}) {
		t.Error("a second signature took the first away")
	}
}

func TestWhatWasSaidIsOfThatFolderAndThoseLines(t *testing.T) {
	me, dir := user(t), folder(t, "a", "below")
	a, beside := filepath.Dir(dir), filepath.Dir(dir)+"b"
	must(t, os.MkdirAll(beside, 0o755))
	must(t, me.Add(a, []string{"run a"}))
	for _, c := range []struct {
		dir, what string
		want      bool
	}{{a, "run a", true}, {dir, "run a", true}, {a, "run b", false}, {beside, "run a", false}, {filepath.Dir(a), "run a", false}} {
		if got := me.Trusts(c.dir, []string{c.what}); got != c.want {
			t.Errorf("%s, %s: trusted %v, want %v", c.dir, c.what, got, c.want)
		}
	}
	if was, err := me.Remove(a); !was || err != nil || me.Trusts(a, []string{"run a"}) {
		t.Errorf("it is trusted after it was removed: %v %v", was, err)
	}
}

// A link into a folder that is trusted leads there, and one out of it does not take trust along.
func TestALinkIsWhereItLeads(t *testing.T) {
	me, a, b := user(t), folder(t), folder(t)
	must(t, me.Add(a, []string{"run a"}))
	if err := os.Symlink(b, filepath.Join(a, "out")); err != nil {
		t.Skip("no links here")
	}
	if me.Trusts(filepath.Join(a, "out"), []string{"run a"}) {
		t.Error("a folder elsewhere is trusted, because a link in a trusted one leads to it")
	}
}

func TestTheKeyIsTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders of settings are private there")
	}
	me, dir := user(t), folder(t)
	must(t, me.Sign(dir, []string{"run a"}))
	key := filepath.Join(me.Config, keyFile)
	for name, want := range map[string]os.FileMode{key: 0o600, me.Config: 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v (%v)", name, info.Mode().Perm(), want, err)
		}
	}
	must(t, os.Chmod(key, 0o644))
	if me.Trusts(dir, []string{"run a"}) {
		t.Error("a key that others can read vouches for a folder")
	}
	if err := me.Sign(dir, []string{"run b"}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("signing with such a key: %v", err)
	}
}

func TestTwoWhoMakeAKeyAtOnceUseTheSame(t *testing.T) {
	me, dir := user(t), folder(t)
	var wg sync.WaitGroup
	for i := range 16 {
		at := filepath.Join(dir, string(rune('a'+i)))
		must(t, os.Mkdir(at, 0o755))
		wg.Go(func() {
			if err := me.Sign(at, []string{"run"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 16 {
		if !me.Trusts(filepath.Join(dir, string(rune('a'+i))), []string{"run"}) {
			t.Error("a folder was signed with a key that is lost", i)
		}
	}
}

// A signature and a list that are not as they were written trust nobody.
func TestDamageTrustsNobody(t *testing.T) {
	me, dir := user(t), folder(t)
	must(t, me.Sign(dir, []string{"run a"}))
	must(t, me.Add(dir, []string{"run b"}))
	must(t, os.WriteFile(filepath.Join(dir, disk.SignatureFile), []byte(strings.Repeat("0", 64)), 0o644))
	must(t, os.WriteFile(filepath.Join(me.Config, listFile), []byte("{"), 0o600))
	if me.Trusts(dir, []string{"run a"}) || me.Trusts(dir, []string{"run b"}) {
		t.Error("damaged files trust a folder")
	}
	if err := me.Add(dir, []string{"run b"}); err == nil || !strings.Contains(err.Error(), listFile) {
		t.Errorf("a damaged list is written over: %v", err)
	}
}
