package prepare_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/train/prepare"
)

// varied returns configs of a command, each with another field changed.
func varied(t *testing.T, command string) (list []prepare.Config) {
	t.Helper()
	plain := prepare.New(command)
	for _, f := range config.ListAll(plain) {
		values := []string{"true", "false", "3", "5", "0.25", "[2, 1]", "[ns, nh]", "1-3", "{data}"}
		if one, ok := strings.CutPrefix(f.Want, "one of "); ok {
			values = strings.Split(one, ", ")
		}
		i := slices.IndexFunc(values, func(value string) bool {
			c, err := prepare.With(plain, f.Path+"="+value)
			return err == nil && !reflect.DeepEqual(c, plain)
		})
		if i < 0 {
			t.Errorf("%s: no value was found for %s", command, f.Path)
			continue
		}
		c, err := prepare.With(plain, f.Path+"="+values[i])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// What a stage is in a spec is read as the same stage, for every field of every command; package cli holds what
// it prints as its command to that.
func TestAStageIsReadAsItIsWritten(t *testing.T) {
	fields := 0
	for _, command := range prepare.Commands() {
		for _, c := range append(varied(t, command), prepare.New(command)) {
			fields++
			list := prepare.List{{Name: "x", Config: c}}
			n, err := list.EncodeNode()
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			var doc yaml.Node
			if err := yaml.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			var back prepare.List
			if _, faults := back.DecodeNode(doc.Content[0], "prepare"); len(faults) > 0 || !reflect.DeepEqual(back, list) {
				t.Errorf("%s is read as\n%+v, %v; want\n%+v", text, back, faults, c)
			}
		}
	}
	if fields < 150 {
		t.Errorf("%d fields were tried, want all", fields)
	}
}

// Defaults follow from what was chosen, wherever that stands, and what is written stays.
func TestDefaultsFollowFromWhatIsChosen(t *testing.T) {
	b := prepare.DefaultVAE("b")
	b.Epochs = 9
	for _, sets := range [][]string{{"epochs=9", "model.loss=b"}, {"model.loss=b", "epochs=9"}} {
		if got, err := prepare.With(prepare.New("pretrain vae"), sets...); err != nil || !reflect.DeepEqual(got, &b) {
			t.Errorf("%s: %+v, %v; want %+v", sets, got, err, b)
		}
	}
	a := prepare.DefaultVAE("a")
	a.Epochs = 9
	if got, err := prepare.With(&b, "model.loss=a"); err != nil || !reflect.DeepEqual(got, &a) {
		t.Errorf("back to the other loss: %+v, %v; want %+v", got, err, a)
	}
	if conv, err := prepare.With(prepare.New("pretrain moa"), "data=d", "model.net=conv"); err != nil || conv.Validate() != nil {
		t.Errorf("convolutions alone: %v, %v", err, conv.Validate())
	}
}

// What a stage reads is found in its fields, and filled there, in a copy.
func TestWhatAStageReads(t *testing.T) {
	world := prepare.DefaultWorld()
	world.Data = []prepare.Folder{"{some}", "data/old", "{wander}"}
	if got := prepare.Reads(&world); !slices.Equal(got, []string{"some", "wander"}) {
		t.Errorf("reads %v", got)
	}
	filled := prepare.Fill(&world, func(name string) string { return "stages/" + name }).(*prepare.World)
	if want := []prepare.Folder{"stages/some", "data/old", "stages/wander"}; !slices.Equal(filled.Data, want) || world.Data[0] != "{some}" {
		t.Errorf("filled %v of %v, want %v", filled.Data, world.Data, want)
	}
	adapt := prepare.DefaultAdapt()
	adapt.Trios, adapt.Zoo = "ns,runs/a#0,{x}#1 nh,nh,nh", "{zoo}"
	if got := prepare.Files(&adapt); !slices.Equal(got, []string{"runs/a", "{x}"}) {
		t.Errorf("files %v", got)
	}
	adapt.Trios, adapt.Zoo = "played:people/anna,nh,nh", ""
	if got := prepare.Files(&adapt); !slices.Equal(got, []string{"zoo", "people/anna"}) {
		t.Errorf("files %v", got)
	}
}
