package browsertest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const token = "a-token-for-the-browser-tests"

// program is hop, built once.
func program(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("HOP_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "hop")
	cmd := exec.Command("go", "build", "-C", "../..", "-o", bin, "./cmd/hop")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building hop: %v\n%s", err, out)
	}
	return bin
}

// hop runs a command of hop in a folder.
func hop(t *testing.T, bin, dir string, words ...string) {
	t.Helper()
	cmd := exec.Command(bin, words...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("hop %s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

// serve starts hop serve and returns where it answers, and what ends it.
func serve(t *testing.T, bin, dir string, words ...string) (base string, end func()) {
	t.Helper()
	cmd := exec.Command(bin, append([]string{"serve", "runs", "--addr", ":0"}, words...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOP_TOKEN="+token)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	address := regexp.MustCompile(`http://[0-9.]+:[0-9]+`)
	for base == "" && lines.Scan() {
		base = address.FindString(lines.Text())
	}
	done := make(chan struct{})
	var rest []string
	go func() {
		defer close(done)
		for lines.Scan() {
			rest = append(rest, lines.Text())
		}
	}()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		_ = cmd.Process.Signal(os.Interrupt)
		timer := time.AfterFunc(15*time.Second, func() { t.Error("hop serve does not end"); _ = cmd.Process.Kill() })
		<-done
		_ = cmd.Wait()
		timer.Stop()
		for _, line := range rest {
			if strings.Contains(line, "panicked") {
				t.Errorf("the server said %s", strings.Join(rest, "\n"))
				break
			}
		}
	}
	t.Cleanup(end)
	return base, end
}

// TestServe goes through the pages as a person does: trains one thing first, starts
// another from the page, and watches.
func TestServe(t *testing.T) {
	chrome := browser(t)
	bin, dir := program(t), t.TempDir()
	hop(t, bin, dir, "train", "ppo-4x4", "--steps", "30000", "--seeds", "1-2", "--set", "eval.episodes=200", "--set", "train.save=10")
	hop(t, bin, dir, "train", "ppo-4x4", "--steps", "20000", "--seeds", "1-2", "--set", "eval.episodes=200", "--set", "ppo.lr=0.0005")
	evil := filepath.Join(dir, "runs", "<script>alert(1)<")
	_ = os.CopyFS(evil, os.DirFS(filepath.Join(dir, "runs", "ppo-4x4-002")))
	if err := os.WriteFile(filepath.Join(evil, "seed-1", "metrics.csv"), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	base, end := serve(t, bin, dir, "--control")
	b := open(t, chrome, base)

	b.visit("/")
	b.is("without the token nothing is shown", `document.body.innerText.includes('needs the server')`)
	b.visit("/?token=" + token)
	b.is("the token is gone from the address", `!location.search.includes('token') && document.querySelector('#runs')`)

	for _, page := range []struct {
		name string
		try  func(*tab)
	}{{"runs", runs}, {"curves", curves}, {"compare", compare}, {"start", start}} {
		t.Run(page.name, func(t *testing.T) { b.t = t; page.try(b) })
	}
	b.t = t

	// The server ends; what it started goes on, and another server knows it.
	b.visit("/start?preset=ppo-4x4&set=train.steps=3000000")
	b.click("start")
	b.is("a training runs", `document.querySelector('[data-test=job-state].running') && `+on("job-run"))
	end()
	base, _ = serve(t, bin, dir, "--control", "--record", filepath.Join(dir, "people"))
	b.base = base
	b.visit("/start?token=" + token)
	b.is("the new server knows the job", `document.querySelector('[data-test=job-state].running')`)
	b.click("stop")
	b.within(40*time.Second, "it stops", `!document.querySelector('[data-test=job-state].running')`)

	t.Run("sweeps", func(t *testing.T) { b.t = t; sweeps(b, bin, dir) })
	t.Run("diagnose", func(t *testing.T) { b.t = t; diagnose(b) })
	t.Run("theatre", func(t *testing.T) { b.t = t; theatre(b) })
	t.Run("texts", func(t *testing.T) { b.t = t; texts(b) })
	t.Run("join", func(t *testing.T) { b.t = t; join(b, filepath.Join(dir, "people")) })
	b.t = t
}

func runs(b *tab) {
	b.is("the runs are listed", `document.querySelectorAll('#runs tbody tr[data-run]').length === 3`)
	b.is("it is live", `document.querySelector('#live.on')`)
	b.is("a run with a name like a script is shown as text",
		`[...document.querySelectorAll('#runs a')].some((a) => a.textContent === '<script>alert(1)<')`)
	b.is("the damaged run says so", `document.querySelector('#runs tr[data-state=damaged]')`)
	b.choose("#q", "ppo-4x4-001")
	b.is("search finds one", `document.querySelectorAll('#runs tbody tr[data-run]').length === 1`)
	b.choose("#q", "score<-99")
	b.is("search by a value finds none", `document.querySelectorAll('#runs tbody tr[data-run]').length === 0`)
	b.choose("#q", "score>-99 ppo-4x4-001")
	b.is("search by a value finds one", `document.querySelectorAll('#runs tbody tr[data-run]').length === 1`)
	b.choose("#q", "")
	b.click("edit")
	b.choose("[data-test=edit-tags]", "<b>bold</b>, good")
	b.click("edit-save")
	b.is("a tag like markup is shown as text",
		`[...document.querySelectorAll('#runs .chip')].some((c) => c.textContent.includes('<b>bold</b>'))`)
	b.choose("#group", "ppo.lr")
	b.is("groups with their mean and interval", `document.querySelectorAll('tr.group').length === 2 &&
		/[0-9.]+ [0-9.]+ – [0-9.]+/.test(document.querySelector('tr.group .c-mean').innerText)`)
	b.do("document.querySelector('#columns input[value=host]').click()")
	b.is("a chosen column, and the address holds the view", `document.querySelector('th.c-host') && location.search.includes('group=ppo.lr') &&
		new URLSearchParams(location.search).getAll('col').includes('host')`)
	b.choose("#group", "")
	b.do("document.querySelector('tr[data-run=\"0:ppo-4x4-002\"] .c-pick input').click()")
	b.click("archive")
	b.is("what is archived leaves the list", `document.querySelectorAll('#runs tbody tr[data-run]').length === 2`)
	b.click("kind-archived")
	b.do("document.querySelector('tr[data-run=\"0:ppo-4x4-002\"] .c-pick input').click()")
	b.click("archive")
	b.visit("/")
	b.is("and comes back", `document.querySelectorAll('#runs tbody tr[data-run]').length === 3`)
	b.accessible("runs")
	b.fits("runs")
	b.visit("/?lang=zh")
	b.is("Chinese", `document.documentElement.lang === 'zh-CN' && document.title.includes('运行')`)
	b.shot("runs-zh")
	b.visit("/?lang=en")
	b.quiet()
}

func sweeps(b *tab, bin, dir string) {
	b.visit("/sweeps")
	b.is("there is none yet", `document.querySelector('#live.on') && document.querySelector('.empty')`)
	hop(b.t, bin, dir, "sweep", "ppo-4x4", "--set", "ppo.lr=0.001,0.003", "--set", "train.steps=4000", "--set", "eval.episodes=20",
		"--out", "runs/<b>swept")
	b.is("it shows up by itself, its name as text",
		`[...document.querySelectorAll('[data-test=sweeps] a')].some((a) => a.textContent === '<b>swept')`)
	b.press("j")
	b.press("o")
	b.is("its jobs, worker and report", `document.querySelectorAll('[data-test=sweep-jobs] [data-phase=done]').length === 2 && `+
		on("workers")+` && `+on("sweep-report"))
	b.accessible("sweeps")
	b.fits("sweeps")
	b.do(`document.querySelector('[data-test=sweep-jobs] a').click()`)
	b.is("a job's run has curves", `location.pathname === '/curves' && document.querySelector('.uplot canvas')`)
	b.quiet()
}

func curves(b *tab) {
	b.visit("/curves?run=0:ppo-4x4-001&run=0:ppo-4x4-002")
	b.is("curves are drawn", `document.querySelector('.u-wrap canvas, .uplot canvas')`)
	b.accessible("curves")
	b.fits("curves")
	b.quiet()
}

func compare(b *tab) {
	b.visit("/compare?run=0:ppo-4x4-001&run=0:ppo-4x4-002")
	b.is("a comparison with the difference of the specs", on("compare-table")+" && "+on("spec-diff")+".innerText.includes('ppo.lr')")
	b.accessible("compare")
	b.fits("compare")
	b.quiet()
}

// start fills in the form, sees what is wrong, starts, watches the run grow, stops it
// and lets it go on.
func start(b *tab) {
	b.visit("/start?preset=ppo-4x4")
	b.is("the script is at work", "!"+on("start")+".disabled")
	b.choose(`[data-field="ppo.lr"]`, "-1")
	b.is("what is wrong stands beside the field",
		`document.querySelector('[data-path="ppo.lr"] [data-test=fault]')?.innerText.includes('above 0')`)
	b.is("and the command says it", on("command")+".innerText.includes('--set ppo.lr=-1')")
	b.accessible("start")
	b.fits("start")
	b.click("start")
	b.is("it is refused in words", `document.querySelector('#faults')?.innerText.includes('above 0')`)
	b.choose(`[data-field="ppo.lr"]`, "0.001")
	b.is("nothing is wrong", `!document.querySelector('[data-test=fault]')`)
	b.choose(`[data-field="train.steps"]`, "3000000")
	b.is("the command follows", on("command")+".innerText.includes('--set train.steps=3000000')")
	b.click("start")
	b.is("a training runs", `document.querySelector('[data-test=job-state].running')`)
	b.is("its output is shown", on("output")+"?.innerText.includes('training ppo-4x4')")
	b.is("its run is known", on("job-run"))
	run := b.get(`new URL(` + on("job-run") + `.href).searchParams.get('run')`)
	b.shot("start-running")

	b.visit("/")
	step := `Number(document.querySelector('tr[data-run="` + run + `"] progress')?.value ?? 0)`
	b.is("the run is listed as running", `document.querySelector('tr[data-run="`+run+`"][data-state=running]')`)
	b.is("its progress is known", step+" > 0")
	first := b.get(step)
	b.is("its progress grows without a reload", step+" > "+first)
	b.visit("/curves?run=" + run)
	b.is("its curve is drawn", `document.querySelector('.u-wrap canvas, .uplot canvas')`)
	b.shot("curves-live")

	b.visit("/start")
	b.click("stop")
	b.within(40*time.Second, "it stops cleanly",
		`document.querySelector('[data-test=job-state].stopped') && document.body.innerText.includes('everything is saved')`)
	b.click("resume")
	b.is("it goes on", `document.querySelector('[data-test=job-state].running') && document.querySelectorAll('.job').length === 2`)
	time.Sleep(2 * time.Second)
	b.click("stop")
	b.within(40*time.Second, "it stops again", `!document.querySelector('[data-test=job-state].running')`)
	b.quiet()
}

// diagnose starts an audit, watches it, and sees its page in place.
func diagnose(b *tab) {
	b.visit("/diagnose?run=0:ppo-4x4-001")
	b.is("the report is shown in place", on("shown")+".src.includes('report.html')")
	b.accessible("diagnose")
	b.fits("diagnose")
	b.click("ladder")
	b.is("a ladder of what does not plan is refused in words", `document.querySelector('#faults')?.innerText.includes('do not plan')`)
	b.click("audit")
	b.is("it runs", `document.querySelector('[data-test=job-state].running')`)
	b.within(90*time.Second, "its page comes up by itself", on("shown")+"?.src.includes('audit.html')")
	b.is("it says what it found", `document.querySelector('.job[data-state=done]')?.innerText.includes('checks')`)
	b.shot("diagnose-audit")
	b.quiet()
}

// theatre steps through an episode, of a planner among bots and of a run's agents at an
// early checkpoint.
func theatre(b *tab) {
	b.visit("/theatre?game=staghunt&team=plan-infer,ns,nh,nh&seed=3")
	b.is("the stage opens", "!"+on("stage")+".hidden && "+on("board")+".childElementCount > 0")
	b.is("the episode is played to its end", "Number("+on("scrub")+".max) > 2")
	before := b.text("[data-test=text]")
	b.click("forward")
	b.is("a step forward", on("scrub")+".value === '1' && new URLSearchParams(location.search).get('step') === '1'")
	if b.get(on("text")+".textContent") == before {
		b.t.Error("the board's text does not change with the step")
	}
	b.press("\u0303") // right arrow
	b.is("by the keyboard", on("scrub")+".value === '2'")
	b.is("what it has in mind is shown", on("mind")+".innerText.length > 50")
	b.do("const x = " + on("scrub") + "; x.value = x.max; x.dispatchEvent(new Event('input', {bubbles: true}))")
	b.is("payments are drawn on who earned them", `document.querySelectorAll('.bubble').length > 0 &&
		[...document.querySelectorAll('.bubble')].map((x) => x.dataset.seat).sort().join() ===
		[...document.querySelectorAll('#players > *')].flatMap((p, s) => (p.querySelector('.got')?.textContent ? [s] : [])).join()`)
	b.do("const x = " + on("scrub") + "; x.value = 2; x.dispatchEvent(new Event('input', {bubbles: true}))")
	b.accessible("theatre")
	b.fits("theatre")
	link := b.get("location.pathname + location.search")
	b.visit("/")
	b.visit(link)
	b.is("the address leads to the step", on("scrub")+".value === '2' && !"+on("stage")+".hidden")

	b.visit("/theatre?run=0:ppo-4x4-001/seed-1")
	b.is("the checkpoints can be chosen", on("at")+".options.length > 2")
	b.do(on("at") + ".selectedIndex = 1; " + on("show") + ".click()")
	b.is("an early age of the agents plays", "!"+on("stage")+".hidden && location.search.includes('at=')")

	b.visit("/theatre?game=commons&set=game.agents=16&set=game.size=16&set=game.horizon=6&team=" + strings.Repeat("sparing,", 15) + "greedy")
	b.is("of many the board comes first", "!"+on("stage")+".hidden && !document.querySelector('#asking').open")
	b.do("const x = document.querySelector('#whose select'); x.value = 15; x.dispatchEvent(new Event('change'))")
	b.is("whose mind is shown is chosen from a list",
		"document.querySelector('#whose select').value === '15' && new URLSearchParams(location.search).get('mind') === '15'")
	b.fits("theatre of many")
	b.quiet()
}

// texts seats co-players by texts of the game's language, with commas and without; a wrong one is
// answered on the page with the place and the word that was meant.
func texts(b *tab) {
	say := func(seat int, text string) {
		b.do(fmt.Sprintf("document.querySelector('#said%d').value = %q", seat, text))
	}
	b.visit("/theatre?game=staghunt")
	say(1, "help(stga)")
	b.click("show")
	b.is("a wrong text is answered with the place and the nearest word",
		`/character 6.*did you mean stag[?]/.test(document.querySelector('#faults').innerText)`)
	b.is("it can be mended where it stands", `document.querySelector('#said1').value === 'help(stga)'`)
	b.shot("texts-wrong")
	say(1, "if(waits(stag),go(stag),nh)")
	say(2, "noisy(nh,.3)")
	b.click("show")
	b.is("the episode is played among them",
		"!"+on("stage")+".hidden && document.querySelector('#players').innerText.includes('if(waits(stag),go(stag),nh)')")
	b.is("the address holds them", `new URLSearchParams(location.search).getAll('team').includes('noisy(nh,.3)')`)
	b.accessible("texts")
	b.fits("texts")
	b.shot("texts")

	b.visit("/join?game=matrix&seat=0&person=bea")
	say(1, "noisy(tft,.x)")
	b.click("take")
	b.is("a wrong text is answered when a seat is taken", `document.querySelector('#faults').innerText.includes('a share from 0 to 1')`)
	say(1, "noisy(tft,.1)")
	b.click("take")
	b.is("the seat is taken", "!"+on("stage")+".hidden && document.querySelector('#players').innerText.includes('noisy(tft,.1)')")
	b.click("leave")
	b.is("it is given up", "!location.search.includes('session') && !"+on("take")+".disabled")
	b.do("document.querySelector('#seat').value = '1'; document.querySelector('#seat').dispatchEvent(new Event('change'))")
	b.is("who sits there changes places with the person",
		`document.querySelector('#seat1').value === 'you' && document.querySelector('#said0').value === 'noisy(tft,.1)'`)
	b.quiet()
}

// join takes a seat, walks to the stag, hunts it with a bot, and sees what was thought. What is
// played is recorded, under a name.
func join(b *tab, people string) {
	b.visit("/join?game=staghunt&team=you,ns,nh,nh&seat=0&seed=3")
	b.accessible("join-form")
	b.click("take")
	b.is("without a name nothing is recorded", `document.querySelector('#faults').innerText.includes('recorded under a name')`)
	b.do(on("person") + ".value = 'anna'")
	b.click("take")
	b.is("the board is there", "!"+on("stage")+".hidden && "+on("pad")+".querySelectorAll('button').length > 4")
	b.accessible("join")
	b.fits("join")
	moves := []string{"d", "d", "d", "w", "w"} // from the lower left to the stag, right and up
	for turn := range 35 {
		now := fmt.Sprintf("step %d of", turn)
		over := on("after") + ".childElementCount > 0"
		b.is("turn "+now, on("text")+".textContent.includes('"+now+"') || "+over)
		if b.get(over) == "true" {
			break
		}
		key := "e" // hunt the stag
		if turn < len(moves) {
			key = moves[turn]
		} else if b.get(`document.querySelector('#pad [aria-label="hunt stag"]').disabled`) == "true" {
			key = "."
		}
		b.press(key)
	}
	b.is("the episode is won", `Number(document.querySelector('[data-test=after] .headline').innerText.match(/[0-9]+([.][0-9]+)?/)?.[0]) > 1`)
	b.shot("join-won")
	if list, err := filepath.Glob(filepath.Join(people, "anna", "episode-*.json")); err != nil || len(list) != 1 {
		b.t.Errorf("%v was recorded of one episode, %v", list, err)
	}

	b.visit("/join?game=staghunt&team=you,ns,plan-infer,nh&seat=0&seed=3&person=anna")
	b.click("take")
	b.is("the first turn", on("text")+".textContent.includes('step 0 of')")
	b.press("f") // the hare where the person stands
	b.is("what was thought of the person is shown", on("told")+"?.innerText.includes('hare')")
	b.shot("join-after")
	b.click("open")
	b.is("the episode opens in the theatre", "location.pathname === '/theatre' && !"+on("stage")+".hidden")
	b.quiet()
}
