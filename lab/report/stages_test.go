package report

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// The page shows what the stages around a training found, and survives cards
// that are missing or damaged.
func TestStagesAreShownWithTheirCards(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "tiny-001")
	lay(t, filepath.Join(dir, "seed-1"), tiny{seed: 1, status: "done", windows: 10, mean: 2.8})
	put(t, filepath.Join(root, "tiny-001/stages.json"), `[{"name":"data","command":"hop collect","dir":"../stages/data-1","wall_s":1.5},
{"name":"moa","command":"hop pretrain moa","dir":"../stages/moa-1","reused":true,"verdict":"weak: recall","status":"weak"},
{"name":"vae","command":"hop pretrain vae","dir":"../stages/vae-1","status":"good","verdict":"good: all"}]`)
	put(t, filepath.Join(root, "stages/moa-1/card.json"), `{"numbers":[{"name":"top-1","value":0.81,"limit":{"name":"Bayes","value":0.85}},
{"name":"odd","value":null}]}`)
	put(t, filepath.Join(root, "stages/vae-1/card.json"), `{"numbers": 7`)
	put(t, filepath.Join(root, "stages/vae-1/adapt.json"), `{"steps":2400,"last":600,"table":[
{"vs":["ns","nh","nh"],"score":4.9,"best_response":5,"normalised":0.97,"normalised_ci":[0.95,0.99]}]}`)
	if err := Write(t.Context(), registry.New(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"report.html", "report.md"} {
		says(t, file, load(t, dir, file), "What it is made of", "Meeting others", "ns, nh, nh", "0.970", "top-1 0.81 (limit 0.85)", "odd –",
			"done before", "../stages/moa-1/card.html")
	}
	page := func() string { return load(t, dir, "report.html") }
	among := `{"split":"staghunt/test@1","of":225,"n":2,"median":0.9,"worst_decile":0.4,"below_random":0.5,"safe":1,"rows":[` +
		`{"name":"flee","score":0.1,"best_response":1,"by":"by nh","random":0.8,"normalised":-0.7,"watch":"hop play a"},` +
		`{"name":"help(stag)","known":true,"score":4.5,"best_response":5,"by":"exact","random":1,"normalised":0.875}]}`
	put(t, filepath.Join(root, "stages/vae-1/adapt.json"), `{"steps":2400,"last":600,"table":[{"vs":["flee"]}],"strangers":`+among+`}`)
	if err := Write(t.Context(), registry.New(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"report.html", "report.md"} {
		says(t, file, load(t, dir, file), "Among strangers", "Among 2 of the 225 strangers of staghunt/test@1, none of whom it has met: half "+
			"of them pay it at least 0.900", "nine of ten at least 0.400; with 50 % it ends below random play", "flee", "-0.700", "known", "0.875")
	}
	sections := []string{`<section id="stages">`, `<section id="meetings">`, `href="#stages"`, `href="#meetings"`}
	for _, want := range sections {
		if strings.Count(page(), want) != 1 {
			t.Errorf("report.html has %s %d times, want once", want, strings.Count(page(), want))
		}
	}
	put(t, filepath.Join(root, "tiny-001/stages.json"), `[{"name":"moa","command":"hop collect","dir":"../../x/moa-1","status":"good"}]`)
	put(t, filepath.Join(filepath.Dir(root), "x/moa-1/card.json"), `{"numbers":[{"name":"secret","value":1}]}`)
	if err := Write(t.Context(), registry.New(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	says(t, "report.html", page(), "stage moa lies in ../../x/moa-1", "nothing there is read")
	if strings.Contains(page(), "secret") || strings.Contains(page(), "card.html") {
		t.Error("a stage's folder led out of the folder of the runs")
	}
	put(t, filepath.Join(root, "tiny-001/stages.json"), `[{`)
	if err := Write(t.Context(), registry.New(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	says(t, "report.html", page(), "stages.json is damaged")
	for _, no := range sections {
		if strings.Contains(page(), no) {
			t.Errorf("report.html has %s, and no stages to show", no)
		}
	}
}
