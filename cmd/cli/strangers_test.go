package cli

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/stats"
)

// Tables of strangers are made of docs/results/strangers*.json, which are made of what hop strangers score
// --json printed, of several agents or of one after the other:
//
//	go test ./cmd/cli -run TablesOfStrangers -args -tables -file strangers-8x8 -measured a.json,b.json \
//	  -by "the commands, the commit, the kernel set"
//
// Without -measured the tables are made anew of the files as they are.
var (
	anew     = flag.Bool("tables", false, "write the tables of strangers")
	measured = flag.String("measured", "", "what hop strangers score --json printed: files")
	tableOf  = flag.String("file", "strangers", "the table it is of")
	by       = flag.String("by", "", "how it was measured")
)

const results = "../../docs/results/"

// scored is that file.
type scored struct {
	By     string               `json:"by"` // how it was measured
	Game   map[string]any       `json:"game"`
	Agents []*adapted.Strangers `json:"agents"`
}

func readScored(t *testing.T, file string) (s scored) {
	t.Helper()
	if *measured != "" && file == *tableOf {
		made := scored{By: *by}
		for _, name := range strings.Split(*measured, ",") {
			var from struct {
				Game   map[string]any       `json:"game"`
				Agents []*adapted.Strangers `json:"strangers_by_agent"`
				One    *adapted.Strangers   `json:"strangers"`
			}
			text, err := os.ReadFile(name)
			if err == nil {
				err = json.Unmarshal(text, &from)
			}
			if err != nil {
				t.Fatal(err)
			}
			if made.Game = from.Game; len(from.Agents) == 0 {
				from.Agents = append(from.Agents, from.One)
			}
			for _, a := range from.Agents {
				a.Intervals()
				made.Agents = append(made.Agents, a)
			}
		}
		slices.SortStableFunc(made.Agents[1:], func(a, b *adapted.Strangers) int { return cmp.Compare(b.Median, a.Median) })
		if err := disk.WriteJSON(results+file+".json", made); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(results + file + ".json")
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// name is what an agent is called: a run's folder without its number.
func (scored) name(agent string) string {
	name, _, _ := strings.Cut(filepath.Base(agent), "-0")
	return "`" + name + "`"
}

// dec writes a number as our tables do.
func dec(x float64) string {
	text := strings.Replace(fmt.Sprintf("%.2f", x), "-0.00", "0.00", 1)
	if text == "0.00" {
		return "0"
	}
	return strings.Replace(strings.Replace(text, "-0.", "-.", 1), "0.", ".", min(1, strings.Count(text[:2], "0.")))
}

// sure writes a number with its interval.
func sure(x stats.Number, ci stats.Interval) string {
	return fmt.Sprintf("%s (%s to %s)", dec(float64(x)), dec(ci[0]), dec(ci[1]))
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// behind is by how much an agent has less than the first: of each seed the mean over strangers, with Student's interval over
// seeds, which are the same for both.
func (s scored) behind(a *adapted.Strangers) string {
	first := s.Agents[0]
	if a == first || len(a.Seeds) != len(first.Seeds) {
		return ""
	}
	var by stats.Acc
	for seed := range first.Seeds {
		var less stats.Acc
		for _, x := range first.Rows {
			for _, y := range a.Rows {
				if x.Name == y.Name {
					less.Add(x.Seeds[seed] - y.Seeds[seed])
				}
			}
		}
		by.Add(less.Mean())
	}
	return sure(stats.Number(by.Mean()), by.CI(.95))
}

// summary is a line an agent, below its heads; with a sixth head also how far it is behind the first.
func (s scored) summary(heads ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, a := range s.Agents {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |", s.name(a.Agent), sure(a.Median, a.MedianCI), sure(a.Worst, a.WorstCI),
			percent(a.BelowRandom), percent(a.BelowSafe))
		if len(heads) > 5 {
			fmt.Fprintf(&b, " %s |", s.behind(a))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// hardest fills in a sentence for each of the first agent's hardest strangers.
func (s scored) hardest(format string, n int, between string) string {
	var list []string
	for _, r := range s.Agents[0].Rows[:n] {
		list = append(list, fmt.Sprintf(format, r.Name, dec(r.Score), dec(r.Random), dec(r.BestResponse)))
	}
	return strings.Join(list, between)
}

// whole is the page of all strangers, the first agent's hardest first.
func (s scored) whole() string {
	var b strings.Builder
	first := s.Agents[0]
	heads := []string{s.about("%d of the %d strangers of `%s`, %d seeds"), "median", "worst decile", "below random play",
		"below .9 of the safe value", "mean, less than " + s.name(first.Agent) + " by"}
	fmt.Fprintf(&b, "# Tables: strangers\n\nWhat they mean: [strangers](../strangers.md). %s\n\n%s", s.By, s.summary(heads...))
	fmt.Fprintf(&b, "\nThe safe value is %s, by `%s`. Every stranger, all other seats one of a kind, the hardest for %s first: "+
		"what each agent earns, then "+
		"normalised, 1 the best response.\n\n| co-players | best response | random |", dec(first.Safe), first.SafeBy, s.name(first.Agent))
	for _, a := range s.Agents {
		fmt.Fprintf(&b, " %s |", s.name(a.Agent))
	}
	fmt.Fprintf(&b, "\n|---|---|---|%s\n", strings.Repeat("---|", len(s.Agents)))
	for _, r := range first.Rows {
		fmt.Fprintf(&b, "| `%s` | %s %s | %s |", r.Name, dec(r.BestResponse), r.By, dec(r.Random))
		for _, a := range s.Agents {
			for _, x := range a.Rows {
				if x.Name == r.Name {
					fmt.Fprintf(&b, " %s, %s |", dec(x.Score), dec(x.Normalised))
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// about says whom the agents met.
func (s scored) about(format string) string {
	a := s.Agents[0]
	return fmt.Sprintf(format, a.N, a.Of, a.Split, len(a.Seeds))
}

// What the pages say of strangers is what was measured, to the last figure.
func TestTablesOfStrangersAreOfWhatWasMeasured(t *testing.T) {
	s := readScored(t, "strangers")
	english := s.summary(s.about("**co-players that nobody was raised with**: %d of the %d strangers of `%s`, two stags on 4x4, %d seeds; "+
		"1 is the best response"), "median", "worst decile", "below random play", "below .9 of the safe value")
	said := fmt.Sprintf("%s\nThe hardest for %s: %s.\n", english, s.name(s.Agents[0].Agent),
		s.hardest("among three `%s` it earns %s, where random play earns %s and the best response %s", 3, "; "))
	chinese := s.summary(s.about("**谁都没见过的同局者**：`%[3]s` 的 %[2]d 个陌生者中的 %[1]d 个，4x4，两头鹿，%[4]d 个种子；1 为最优回应"),
		"中位数", "最差的十分之一", "低于随机行动", "低于安全值的 .9")
	chinese = fmt.Sprintf("%s\n对 %s 最难的：%s。\n", chinese, s.name(s.Agents[0].Agent),
		s.hardest("遇到三个 `%s` 它得 %s，随机行动得 %s，最优回应得 %s", 3, "；"))
	for page, want := range map[string]string{"README.md": said, "README.zh-CN.md": chinese} {
		block(t, filepath.Join("../..", page), want)
	}
	files, err := filepath.Glob(results + "strangers*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files of what was measured: %v", len(files), err)
	}
	if *measured != "" && !slices.Contains(files, results+*tableOf+".json") {
		files = append(files, results+*tableOf+".json")
	}
	for _, path := range files {
		file := strings.TrimSuffix(filepath.Base(path), ".json")
		s, page := readScored(t, file), results+file+".md"
		if *anew {
			if err := os.WriteFile(page, []byte(s.whole()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(page); err != nil || string(got) != s.whole() {
			t.Errorf("%s is not made of what was measured: %v", page, err)
		}
	}
}

// block holds what stands between a page's marks, and with -tables writes it.
func block(t *testing.T, page, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const mark, end = "<!-- made of docs/results/strangers.json -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(text), mark)
	got, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table of strangers", page)
	}
	if *anew {
		if err := os.WriteFile(page, []byte(before+mark+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s says\n%s\nof what was measured:\n%s", page, got, want)
	}
}
