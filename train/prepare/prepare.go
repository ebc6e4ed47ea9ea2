// Package prepare says what is done around a training, as values: recorded games, models that
// learn before it, a zoo of co-players, and whom the trained agents meet.
//
// A stage is a name and a Config. The same Config is a block of a spec, a Go value and the flags
// of a command: one set of fields with one set of defaults. What a Config reads, it names in
// fields of type Folder. Package lab does what a Config says.
package prepare

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/store/played"
)

// Config is what a stage is to do.
type Config interface {
	// Validate returns everything that is wrong, joined.
	Validate() error
}

// follows is a config some of whose defaults follow from what was chosen.
type follows interface {
	// plain returns the defaults, with what they follow from at its own.
	plain() Config
}

// Plain returns the defaults of a config, as they follow from what was chosen in it.
func Plain(c Config) Config {
	if f, ok := c.(follows); ok {
		return f.plain()
	}
	return New(Command(c))
}

// Folder is a path, or {NAME}, the folder of the stage NAME.
type Folder string

// Stage returns the name of the stage whose folder it is, "" if it is a path.
func (f Folder) Stage() string {
	if name, ok := strings.CutPrefix(string(f), "{"); ok && strings.HasSuffix(name, "}") {
		return strings.TrimSuffix(name, "}")
	}
	return ""
}

// kinds are the commands that can be a stage, and their configs at their defaults.
var kinds = []struct {
	words string
	fresh func() Config
}{
	{"collect", func() Config { return fresh(DefaultCollect()) }},
	{"pretrain moa", func() Config { return fresh(DefaultMOA()) }},
	{"pretrain sequence", func() Config { return fresh(DefaultSequence()) }},
	{"pretrain vae", func() Config { return fresh(DefaultVAE("a")) }},
	{"pretrain cvae", func() Config { return fresh(DefaultCVAE()) }},
	{"pretrain world", func() Config { return fresh(DefaultWorld()) }},
	{"pretrain response", func() Config { return fresh(DefaultResponse()) }},
	{"zoo train", func() Config { return fresh(DefaultZoo()) }},
	{"adapt", func() Config { return fresh(DefaultAdapt()) }},
}

func fresh[C any](c C) *C { return &c }

// Commands returns the words of the commands that can be a stage.
func Commands() (list []string) {
	for _, k := range kinds {
		list = append(list, k.words)
	}
	return list
}

// New returns the config of a command at its defaults, nil if it cannot be a stage.
func New(command string) Config {
	for _, k := range kinds {
		if k.words == command {
			return k.fresh()
		}
	}
	return nil
}

// Command returns the words of the command that does what a config says, "" if it is of none.
func Command(c Config) string {
	for _, k := range kinds {
		if reflect.TypeOf(k.fresh()) == reflect.TypeOf(c) {
			return k.words
		}
	}
	if _, old := c.(*Words); old {
		return "run"
	}
	return ""
}

// Clone returns a copy whose fields can be set apart.
func Clone(c Config) Config {
	own := reflect.New(reflect.TypeOf(c).Elem())
	own.Elem().Set(reflect.ValueOf(c).Elem())
	return own.Interface().(Config)
}

// With returns a config with fields set, each "PATH=VALUE". Defaults that follow from a field
// do so whatever the order.
func With(c Config, sets ...string) (Config, error) {
	plain := New(Command(c))
	if plain == nil {
		return nil, c.Validate()
	}
	var all []config.Change
	for _, d := range changes(c) {
		all = append(all, config.Change{Path: d.Path, A: d.A})
	}
	for _, set := range sets {
		path, value, ok := strings.Cut(set, "=")
		if !ok {
			return nil, fmt.Errorf("%s: want FIELD=VALUE, such as seed=2", set)
		}
		all = append(all, config.Change{Path: path, A: value})
	}
	return follow(plain, func(c Config) error {
		for _, d := range all {
			if err := config.Set(c, d.Path, d.A); err != nil {
				return err
			}
		}
		return nil
	})
}

// follow writes a config's fields, and once more over the defaults that follow from them.
func follow(c Config, write func(Config) error) (Config, error) {
	_ = write(c) // what is wrong is wrong again
	c = Plain(c)
	return c, write(c)
}

// changes lists the fields that are not at their defaults.
func changes(c Config) []config.Change { return config.Diff(config.List(c), config.List(Plain(c))) }

// folders visits the fields of a config that name folders.
func folders(c Config, visit func(f *Folder)) {
	config.Each(c, func(_ string, v reflect.Value) {
		switch at := v.Addr().Interface().(type) {
		case *Folder:
			visit(at)
		case *[]Folder:
			for i := range *at {
				visit(&(*at)[i])
			}
		}
	})
}

// Reads returns the names of the stages whose folders a config reads.
func Reads(c Config) (names []string) {
	folders(c, func(f *Folder) {
		if name := f.Stage(); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	return names
}

// Files returns the paths of files and folders that a config reads.
func Files(c Config) (paths []string) {
	folders(c, func(f *Folder) {
		if *f != "" && f.Stage() == "" {
			paths = append(paths, string(*f))
		}
	})
	if a, ok := c.(*Adapt); ok && a.Zoo == "" {
		paths = append(paths, a.ZooFolder())
	}
	for _, name := range Players(c) {
		if dir, ok := played.Folder(name); ok {
			paths = append(paths, dir)
		} else if run, _, ok := strings.Cut(name, "#"); ok {
			paths = append(paths, run)
		}
	}
	return paths
}

// Players returns whom a config names to play beside the game's bots: agents of runs, policies in
// Python.
func Players(c Config) []string {
	if p, ok := c.(interface{ players() []string }); ok {
		return p.players()
	}
	return nil
}

// Fill returns a config with folders in place of the names of stages.
func Fill(c Config, folder func(stage string) string) Config {
	own := Clone(c)
	config.Each(own, func(_ string, v reflect.Value) {
		if at, ok := v.Addr().Interface().(*[]Folder); ok {
			*at = slices.Clone(*at)
		}
	})
	folders(own, func(f *Folder) {
		if name := f.Stage(); name != "" {
			*f = Folder(folder(name))
		}
	})
	return own
}

var stageName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// Validate checks a list of stages: names are good and not repeated, folders are of an earlier
// stage or one of the given names, and every config is sound.
func (l List) Validate(part string, names ...string) error {
	var errs []error
	known := slices.Clone(names)
	for i, s := range l {
		at := part + "." + s.Name
		switch {
		case !stageName.MatchString(s.Name):
			at = fmt.Sprintf("%s[%d]", part, i)
			errs = append(errs, config.Bad(at+".name", s.Name, "small letters, digits and -"))
		case slices.Contains(known, s.Name):
			errs = append(errs, config.Bad(fmt.Sprintf("%s[%d].name", part, i), s.Name, "a name that is not taken yet"))
		}
		for _, read := range Reads(s.Config) {
			if !slices.Contains(known, read) {
				errs = append(errs, config.Bad(at, "{"+read+"}", strings.TrimSuffix("the name of an earlier stage, one of "+
					strings.Join(known, ", "), ", one of ")))
			}
		}
		if _, meets := s.Config.(*Adapt); meets && !slices.Contains(names, "run") {
			errs = append(errs, config.Bad(at, "adapt", "a command that needs no trained agents; adapt is for follow"))
		}
		errs = append(errs, config.At(s.Config.Validate(), at, nil))
		known = append(known, s.Name)
	}
	return errors.Join(errs...)
}
