package spec_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// Co-players in a game's language can be trained with, and what is wrong with a text is said with
// its place.
func TestSpecsNameCoPlayersInTheLanguage(t *testing.T) {
	for who, says := range map[string]string{
		`["noisy(nh,.3)", wsls]`: "",
		`["noisy(nh,3)"]`:        "character 10: want a share from 0 to 1",
		`[wolf]`:                 "there is no wolf",
	} {
		_, err := registry.New().Load("ppo-4x4", []string{"train.standins.share=0.3", "train.standins.who=" + who})
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", who, err, says)
		}
	}
}
