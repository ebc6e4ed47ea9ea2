package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/hop-marl/hop/cmd/cli"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
)

const top = "../.."

// Pages say what was measured: nobody has typed a number over it, and none was measured without being filled in.
func TestPagesAreFilled(t *testing.T) {
	plan, err := readPlan(top)
	if err != nil {
		t.Fatal(err)
	}
	said, err := plan.said(top)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pages(top)
	if err != nil {
		t.Fatal(err)
	}
	quotes := 0
	for _, page := range list {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		quotes += len(marks.FindAll(text, -1))
		if filled, err := fill(string(text), top, said); err != nil || filled != string(text) {
			t.Errorf("%s does not say what was measured (%v); go run ./internal/numbers fills it", page, err)
		}
	}
	if quotes < 20 {
		t.Errorf("%d quotes were found in %d pages", quotes, len(list))
	}
}

// Cheap commands print what pages quote of them, where the kernel set is the one that it was measured with.
func TestCheapCommandsPrintWhatPagesQuote(t *testing.T) {
	plan, err := readPlan(top)
	if err != nil {
		t.Fatal(err)
	}
	cheap := 0
	for name, g := range plan {
		for _, v := range g.variants() {
			was, err := readMeasured(top, g.file(name, v))
			if err != nil || was.By.Kernels != f32.Kernels() {
				continue
			}
			for _, s := range g.Steps {
				if !s.Cheap {
					continue
				}
				var out, said bytes.Buffer
				cheap++
				if code := cli.Run(context.Background(), registry.New(), strings.Fields(s.Run)[1:], nil, &out, &said); code != 0 {
					t.Fatalf("%s: exit %d\n%s", s.Run, code, &said)
				}
				is, err := s.take(out.String())
				if err != nil {
					t.Fatal(err)
				}
				now := &measured{By: was.By, Steps: map[string]*found{s.Name: is}}
				if err := differ(g, was, now); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if f32.Kernels() == "avx512" && cheap == 0 {
		t.Error("no command was run")
	}
}

// Seconds may differ, numbers may not; and with other kernels nothing is known.
func TestDifferencesAreSeen(t *testing.T) {
	one := step{Name: "a", Run: "hop x", Find: map[string]string{"n": `mean ([\d.]+)`}, Keep: "mean"}
	g := &group{Seeds: []string{"1", "2"}, Steps: []step{one}}
	made := func(out, kernels string) *measured {
		f, err := one.take(out)
		if err != nil {
			t.Fatal(err)
		}
		return &measured{By: runlog.Build{Kernels: kernels}, Steps: map[string]*found{"a": f}}
	}
	was := made("x\nmean 2.50, 3.0 s\n", "avx2")
	if err := differ(g, was, made("mean 2.50, 4.1 s\n", "avx2")); err != nil {
		t.Errorf("seconds: %v", err)
	}
	if err := differ(g, was, made("mean 2.51, 3.0 s\n", "avx2")); err == nil {
		t.Error("another mean is not seen")
	}
	if err := differ(g, was, made("mean 2.51, 3.0 s\n", "neon")); err != nil {
		t.Errorf("other kernels: %v", err)
	}
	if _, err := one.take("nothing"); err == nil {
		t.Error("a number that is not there is not missed")
	}
	said := map[string]string{}
	g.say("g", []*measured{was, made("mean 2.60, 1 s", "avx2")}, said)
	page, err := fill("is <!--=g.a.n-->9<!----> (<!--=g.a.n spread-->9<!---->)\n<!--=g.a-->\n```text\nold\n```\n<!---->\n", top, said)
	want := "is <!--=g.a.n-->2.55<!----> (<!--=g.a.n spread-->2.50 to 2.60<!---->)\n<!--=g.a-->\n```text\nmean 2.50, 3.0 s\n```\n<!---->\n"
	if err != nil || page != want {
		t.Errorf("%v, filled\n%s\nwant\n%s", err, page, want)
	}
	page, err = fill("<!--=line internal/numbers/main.go fillAll-->?<!---->", top, nil)
	if err != nil || !strings.Contains(page, "main.go#L") {
		t.Errorf("a line is quoted as %s, %v", page, err)
	}
	if _, err := fill("<!--=g.b.n-->1<!---->", top, said); err == nil {
		t.Error("what was not measured is quoted")
	}
}
