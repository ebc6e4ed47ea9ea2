package worker

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hop-marl/hop/lab/sweep/queue"
)

// specName is the file into which a job's spec is written.
const specName = "spec.yaml"

// Words is the command line of a job. It is made here, of a job's fields, and by nobody else: of a job that is not as
// jobs are there is none.
func Words(j queue.Job) ([]string, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	words := []string{"attempt", "--leash", "--out", "out", "--workers", strconv.Itoa(max(j.Ask.Cores, 1))}
	if len(j.Do) > 0 {
		return append(append(words, "--"), j.Do...), nil
	}
	words = append(words, "--spec", specName)
	switch j.Kind {
	case queue.Stage:
		words = append(words, "--stage", j.Stage)
	case queue.Follow:
		words = append(words, "--follow")
	case queue.Training:
		words = append(words, "--seed", strconv.FormatUint(j.Seed, 10))
		if j.Until > 0 {
			words = append(words, "--until", strconv.Itoa(j.Until))
		}
	}
	return words, nil
}

// texts writes the specs that a job reads into its folder.
func texts(j queue.Job, dir string) error {
	all := map[string]string{}
	if j.Spec != "" {
		all[specName] = j.Spec
	}
	maps.Copy(all, j.Specs)
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
