package runlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hop-marl/hop/num/disk"
)

// groupFile lies in the folder of a training's seeds.
const groupFile = "group.json"

// Group is what a training of several seeds is to become. It is written before the
// first seed's folder, so that a training that dies at once can be begun by whoever
// goes on with it.
type Group struct {
	Preset string   `json:"preset"`
	Seeds  []uint64 `json:"seeds"`
	Spec   string   `json:"spec"`   // the resolved one
	SHA256 string   `json:"sha256"` // of this object as JSON without spaces, sha256 empty
}

func (g Group) sum() (string, error) {
	g.SHA256 = ""
	b, err := json.Marshal(g)
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]), err
}

// Write puts it into the folder.
func (g Group) Write(dir string) error {
	var err error
	path := filepath.Join(dir, groupFile)
	if g.SHA256, err = g.sum(); err == nil {
		err = disk.WriteJSON(path, g)
	}
	if err != nil {
		return explain("writing", path, err)
	}
	return nil
}

// ReadGroup returns what a folder of seeds is to become, nil if it does not say.
func ReadGroup(dir string) (*Group, error) {
	path := filepath.Join(dir, groupFile)
	b, err := disk.Read(path, 1<<24)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var g Group
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err == nil {
		if sum, _ := g.sum(); sum != g.SHA256 {
			err = errors.New("its sha256 is another one")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("runlog: %s, which says which seeds there are to be, was changed or cut short: %w; put it back, or remove it to "+
			"go on with the seeds that have begun", path, err)
	}
	return &g, nil
}
