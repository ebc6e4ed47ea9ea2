package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/registry"
)

// house is a server of an empty folder.
func house(t testing.TB) (*Server, *httptest.Server) {
	t.Helper()
	s, err := New(Config{Lab: &lab.Lab{Reg: registry.New(), Version: "test"}, Folders: []string{t.TempDir()}, Token: controlToken})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		s.stage.Close()
	})
	return s, h
}

// event is one that was streamed.
type event struct {
	name string
	data []byte
}

// streamed reads a stream to its end, or until enough says so.
func streamed(t *testing.T, ctx context.Context, address string, enough func(event) bool) (list []event, code int) {
	t.Helper()
	got, err := http.DefaultClient.Do(withToken(t, ctx, address))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	sc := bufio.NewScanner(got.Body)
	sc.Buffer(nil, 1<<22)
	var e event
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			e.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			e.data = []byte(line[6:])
		case line == "" && e.name != "":
			list = append(list, e)
			if enough != nil && enough(e) {
				return list, got.StatusCode
			}
			e = event{}
		}
	}
	return list, got.StatusCode
}

func order(list []event) string {
	var words []string
	for _, e := range list {
		if len(words) == 0 || words[len(words)-1] != e.name {
			words = append(words, e.name)
		}
	}
	return strings.Join(words, " ")
}

func fetched(t testing.TB, address string) (int, string) {
	t.Helper()
	r, err := http.DefaultClient.Do(withToken(t, t.Context(), address))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func post(t testing.TB, address string, body any) (int, map[string]string) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ask := withToken(t, t.Context(), address)
	ask.Method, ask.Body, ask.ContentLength = http.MethodPost, io.NopCloser(bytes.NewReader(b)), int64(len(b))
	ask.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	out := map[string]string{}
	_ = json.NewDecoder(r.Body).Decode(&out)
	return r.StatusCode, out
}

const someone = "game=staghunt&team=plan-infer,ns,nh,nh&seed=3"

// An episode is streamed from its head to its end, and the page and its text are of the same.
func TestTheatreIsStreamed(t *testing.T) {
	_, h := house(t)
	list, code := streamed(t, t.Context(), h.URL+"/api/theatre/stream?"+someone, nil)
	if got := order(list); code != 200 || got != "begin head step sums regret end" {
		t.Fatalf("%d, %s", code, got)
	}
	steps := 0
	for _, e := range list {
		if e.name == "step" {
			steps++
		}
	}
	code, page := fetched(t, h.URL+"/theatre?"+someone)
	if code != 200 || !strings.Contains(page, `<option value="plan-infer"`) || !strings.Contains(page, `data-ready="true"`) {
		t.Errorf("%d\n%s", code, page)
	}
	if code, page = fetched(t, h.URL+"/theatre?text=1&"+someone); code != 200 || strings.Count(page, "<pre>staghunt") != steps {
		t.Errorf("%d, %d steps as text, want %d", code, strings.Count(page, "<pre>staghunt"), steps)
	}
	for _, place := range []string{"/theatre", "/join", "/theatre?game=matrix&lang=zh", "/join?game=coin&lang=zh"} {
		if code, page := fetched(t, h.URL+place); code != 200 || !strings.Contains(page, "<select") {
			t.Errorf("%s: %d\n%s", place, code, page)
		}
	}
}

// What is played without a team is what the form shows.
func TestTheFormSaysWhatIsPlayed(t *testing.T) {
	_, h := house(t)
	_, page := fetched(t, h.URL+"/theatre?game=cleanup")
	_, rest, ok := strings.Cut(page, `data-query="`)
	text, _, _ := strings.Cut(rest, `"`)
	q, err := url.ParseQuery(strings.ReplaceAll(text, "&amp;", "&"))
	if !ok || err != nil || q.Get("team") == "" {
		t.Fatalf("%q %v\n%s", text, err, page)
	}
	for _, name := range strings.Split(q.Get("team"), ",") {
		if !strings.Contains(page, `value="`+name+`" title=`) {
			t.Errorf("%s is not in the form", name)
		}
	}
	list, _ := streamed(t, t.Context(), h.URL+"/api/theatre/stream?"+q.Encode(), func(e event) bool { return e.name == "head" })
	var head struct{ Seats []struct{ Name string } }
	if err := json.Unmarshal(list[len(list)-1].data, &head); err != nil {
		t.Fatal(err)
	}
	for s, name := range strings.Split(q.Get("team"), ",") {
		if head.Seats[s].Name != name {
			t.Errorf("seat %d is played by %s, the form says %s", s, head.Seats[s].Name, name)
		}
	}
}

// What an address cannot mean is refused with its status, names are escaped, and no name leads
// out of the folders.
func TestTheatreRefuses(t *testing.T) {
	_, h := house(t)
	for q, want := range map[string]int{
		"game=staghunt&seed=-1": 400, "game=staghunt&seed=x": 400, "game=staghunt&seat=-1": 400, "game=staghunt&moves=1.x": 400,
		"game=staghunt&team=" + strings.Repeat(",", 70): 400, "game=staghunt&team=a%23b": 400,
		"run=0:none": 404, "run=0:../x": 404, "run=9:x": 404,
		"run=%2Fetc": 404, "game=staghunt&team=0:..%2F..%2Fetc%230,ns,ns,ns": 404, "game=chess": 422, "game=python": 422,
		"game=staghunt&set=game.size%3D9000": 422, "moves=" + strings.Repeat("1.", 5000) + "1": 414,
	} {
		code, text := fetched(t, h.URL+"/api/theatre/choices?"+q)
		if code != want || !strings.Contains(text, `"error"`) {
			t.Errorf("%.60s: %d %.200s, want %d", q, code, text, want)
		}
		if want != 422 {
			if code, _ := fetched(t, h.URL+"/theatre?"+q); code != want {
				t.Errorf("the page %.60s: %d, want %d", q, code, want)
			}
			if _, code := streamed(t, t.Context(), h.URL+"/api/theatre/stream?"+q, nil); code != want {
				t.Errorf("the stream %.60s: %d, want %d", q, code, want)
			}
		}
	}
	evil := "<script>alert(1)</script>"
	for _, place := range []string{"/theatre", "/join"} {
		coded := url.QueryEscape(evil)
		for _, q := range []string{"game=staghunt&team=" + coded + ",ns,ns,ns", "game=" + coded, "game=staghunt&seed=1&session=" + coded} {
			if _, page := fetched(t, h.URL+place+"?"+q); strings.Contains(page, evil) {
				t.Errorf("%s?%s is not escaped", place, q)
			}
		}
	}
	list, _ := streamed(t, t.Context(), h.URL+"/api/theatre/stream?game=staghunt&team=wolf,ns,ns,ns", nil)
	if last := list[len(list)-1]; last.name != "fault" || !strings.Contains(string(last.data), "wolf") {
		t.Errorf("%s %s", last.name, last.data)
	}
}

// Two people join over HTTP; one goes away and comes back, and sees all of it.
func TestPeopleJoinOverHTTP(t *testing.T) {
	_, h := house(t)
	q := "game=staghunt&team=you,plan-infer,nh,nh&seat=0&seed=2"
	code, one := post(t, h.URL+"/api/join?"+q, nil)
	if code != 200 || one["id"] == "" {
		t.Fatalf("%d %v", code, one)
	}
	_, two := post(t, h.URL+"/api/join?"+q, nil)
	type turn struct {
		Step  int
		Over  bool
		Legal []bool
		Moves []int32
	}
	moves := 0
	for {
		var now turn // each look is a connection of its own
		streamed(t, t.Context(), h.URL+"/api/join/stream?id="+one["id"], func(e event) bool {
			if e.name != "turn" {
				return false
			}
			now = turn{}
			if err := json.Unmarshal(e.data, &now); err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(e.data, []byte(`"minds"`)) {
				t.Error("a person is shown thoughts")
			}
			return now.Legal != nil && now.Step == moves
		})
		if now.Over {
			q += fmt.Sprintf("&moves=%s", strings.Trim(strings.ReplaceAll(fmt.Sprint(now.Moves), " ", "."), "[]"))
			break
		}
		act := slices.Index(now.Legal, true)
		if code, out := post(t, h.URL+"/api/join/move", map[string]any{"ID": one["id"], "At": len(now.Moves), "Action": act}); code != 200 {
			t.Fatalf("%d %v", code, out)
		}
		moves++
	}
	if code, out := post(t, h.URL+"/api/join/move", map[string]any{"ID": one["id"], "At": 0, "Action": 0}); code != 410 {
		t.Errorf("a move after the end: %d %v", code, out)
	}
	if code, out := post(t, h.URL+"/api/join/move", map[string]any{"ID": two["id"], "At": 0, "Action": 99}); code != 422 ||
		!strings.Contains(out["error"], "not legal") {
		t.Errorf("a move that is not legal: %d %v", code, out)
	}
	if code, out := post(t, h.URL+"/api/join/move", map[string]any{"ID": "x", "At": 0, "Action": 0}); code != 410 {
		t.Errorf("a move of nobody: %d %v", code, out)
	}
	if code, out := post(t, h.URL+"/api/join/move", "no object"); code != 400 {
		t.Errorf("no move: %d %v", code, out)
	}
	if code, _ := post(t, h.URL+"/api/join/leave", map[string]any{"ID": two["id"]}); code != 200 {
		t.Errorf("leaving: %d", code)
	}
	if list, _ := streamed(t, t.Context(), h.URL+"/api/join/stream?id="+two["id"], nil); list[len(list)-1].name != "fault" {
		t.Errorf("a seat that was left: %s", order(list))
	}
	list, _ := streamed(t, t.Context(), h.URL+"/api/theatre/stream?"+q, nil)
	if got := order(list); !strings.HasPrefix(got, "begin head step sums") || !strings.HasSuffix(got, "end") {
		t.Errorf("the episode opens as %s", got)
	}
}

// A client that goes away ends its work, and nothing is left when the server closes.
func TestTheatreLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, err := New(Config{Lab: &lab.Lab{Reg: registry.New(), Version: "test"}, Folders: []string{t.TempDir()}, Token: controlToken})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	for seed := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		streamed(t, ctx, h.URL+fmt.Sprintf("/api/theatre/stream?game=staghunt&team=plan-infer,plan-infer,random,random&seed=%d", seed),
			func(e event) bool { return e.name == "step" })
		cancel()
	}
	if _, out := post(t, h.URL+"/api/join?"+"game=staghunt&team=you,plan-infer,nh,nh&seat=0", nil); out["id"] == "" {
		t.Error(out)
	}
	h.CloseClientConnections()
	h.Close()
	s.stage.Close()
	http.DefaultClient.CloseIdleConnections()
}

// Whatever an address says, the answer is a page or a refusal.
func FuzzTheatre(f *testing.F) {
	s, _ := house(f)
	for _, q := range []string{someone, "run=0:a/b&at=3", "game=tag&set=game.size=5", "team=a,b&seat=3&moves=1.2",
		"seed=18446744073709551615", "team=0:x%231@7", "run=..%2f..", "at=-1", "game=cartpole&team=plan-infer",
		"game=python&set=game.env=subprocess:check_output&set=game.python=/bin/sh", "game=staghunt&set=game.name=python",
		"run=0:--env=evil:make"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		for _, place := range []string{"/theatre", "/join", "/api/theatre/choices"} {
			r := httptest.NewRequest(http.MethodGet, place, nil)
			r.URL.RawQuery = q
			if r.URL.Query().Has("text") || len(q) > 300 {
				return
			}
			w := httptest.NewRecorder()
			s.mux.ServeHTTP(w, r)
			if w.Code >= 500 {
				t.Errorf("%s?%s: %d %s", place, q, w.Code, w.Body)
			}
		}
	})
}

// Whatever is sent as a move, the answer is a refusal.
func FuzzMoves(f *testing.F) {
	s, _ := house(f)
	f.Add(`{"ID":"x","At":0,"Action":0}`)
	f.Add(`{"ID":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, place := range []string{"/api/join/move", "/api/join/leave"} {
			w := httptest.NewRecorder()
			s.mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, place, strings.NewReader(text)))
			if w.Code != 400 && w.Code != 410 && w.Code != 422 {
				t.Errorf("%s %q: %d %s", place, text, w.Code, w.Body)
			}
		}
	})
}

// Co-players can be texts of the game's language, with commas and without, in every way that an
// address says a team; a wrong one is answered with the place and the word that was meant.
func TestTextsSitOnSeats(t *testing.T) {
	_, h := house(t)
	const waits = "if(waits(stag),go(stag),nh)"
	for _, team := range []string{
		"team=ns," + waits + ",nh,nh",
		"team=ns&team=" + waits + "&team=nh&team=nh",
		"team=ns&team=ns&team=nh&team=nh&said0=&said1=" + waits,
	} {
		code, page := fetched(t, h.URL+"/theatre?game=staghunt&text=1&seed=3&"+team)
		if code != 200 || !strings.Contains(page, waits) || strings.Contains(page, `data-test="refused"`) || !strings.Contains(page, "<pre>") {
			t.Errorf("%s: %d, and the page does not play it", team, code)
		}
		if !strings.Contains(page, `id="said1" name="said1"`) || !strings.Contains(page, `value="`+waits+`"`) {
			t.Errorf("%s: the form does not hold the text", team)
		}
	}
	list, _ := streamed(t, t.Context(), h.URL+"/api/theatre/stream?game=staghunt&team=ns,help(stga),nh,nh", nil)
	last := list[len(list)-1]
	said := string(last.data)
	if last.name != "fault" || !strings.Contains(said, "character 6") || !strings.Contains(said, "did you mean stag?") {
		t.Errorf("a wrong text is answered with %s %s", last.name, last.data)
	}
	code, out := post(t, h.URL+"/api/join?game=matrix&seat=0&team=you&team="+url.QueryEscape("noisy(tft,2)"), struct{}{})
	if code != http.StatusUnprocessableEntity || !strings.Contains(out["error"], "character 11") {
		t.Errorf("a wrong text beside a person: %d %v", code, out)
	}
}
