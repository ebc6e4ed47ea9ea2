package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec/names"
)

// largest is how many bytes a sweep's files may have.
const largest = 1 << 30

// ErrUnsealed says that nothing vouches for a sweep's folder: a program that sealed nothing wrote it, or somebody took
// the seals away.
var ErrUnsealed = errors.New("nothing vouches for it")

// Read returns the sweep of a folder. One that was changed after it was written is refused; one without a seal (Loose)
// can be looked at.
func Read(dir string) (*Sweep, error) {
	s := &Sweep{}
	name := filepath.Join(dir, sweepFile)
	err := disk.ReadSealed(name, largest, s)
	switch {
	case errors.Is(err, disk.ErrUnsealed):
		s.Check, err = "", nil
	case errors.Is(err, disk.ErrChanged):
		return nil, fmt.Errorf("sweep: %s was changed after it was written%s: %s; put it back from a copy, or begin anew with another --out: %w",
			name, changedAt(name, s.At), s.differs(dir), err)
	}
	if err == nil {
		err = s.validate()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// validate refuses what no sweep is: a seal says that a file is as it was written, not who wrote it.
func (s *Sweep) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sweep: "+format, args...)) }
	if s.Score != nil {
		errs = append(errs, s.Score.validate())
	}
	if s.Score == nil && (len(s.Variants) == 0 || len(s.Seeds) == 0) || s.Score != nil && len(s.Variants) > 0 {
		bad("%s has no variants or no seeds", sweepFile)
	}
	if !name16.MatchString(s.ID) {
		bad("its id is %.50q", s.ID)
	}
	for _, v := range s.Variants {
		if !oneFolder(v.Name) {
			bad("a variant is called %.100q, which is no name of a folder", v.Name)
		}
	}
	if s.Each.Cores < 1 || s.Each.Cores > 1<<16 || s.Memory < 0 || s.Each.Limit < 0 || s.Each.Quiet < 0 {
		bad("a job asks for what cannot be: %+v", s.Each)
	}
	if s.Halving != nil {
		errs = append(errs, s.Halving.Validate())
	}
	errs = append(errs, commands("then", s.Then, "{run}")...)
	errs = append(errs, commands("after", s.After, "{variants}", "{specs}")...)
	return errors.Join(errs...)
}

// name16 is what a sweep is called on a server.
var name16 = regexp.MustCompile(`^[0-9a-f]{16}$`)

// oneFolder says whether a name is that of a folder below another, and no path.
func oneFolder(name string) bool {
	return fs.ValidPath(name) && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "/\\\x00")
}

// Loose reports whether nothing vouches for what the sweep is.
func (s *Sweep) Loose() bool { return s.Check == "" }

// changedAt says when a file was written and when it was changed, as far as can be told.
func changedAt(name string, written time.Time) string {
	info, err := os.Stat(name)
	if err != nil || written.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (it says that it was written at %s, and the file was changed last at %s)", written.Format(time.DateTime),
		info.ModTime().UTC().Format(time.DateTime))
}

// differs says what a changed sweep says otherwise than its runs, which have seals of their own.
func (s *Sweep) differs(dir string) string {
	var list []string
	for _, v := range s.Variants {
		runs, err := disk.Match(filepath.Join(dir, filepath.Base(v.Name)), "seed-*")
		if err != nil {
			continue
		}
		for _, run := range runs {
			rec, err := runlog.Read(run)
			if err == nil && !rec.Loose() && string(rec.Spec) != v.Spec {
				list = append(list, fmt.Sprintf("of %s %s", v.Name, runlog.Differences([]byte(v.Spec), rec.Spec)))
				break
			}
		}
	}
	const most = 5
	if len(list) > most {
		list = append(list[:most], fmt.Sprintf("and of %d more", len(list)-most))
	}
	if len(list) == 0 {
		return "the specs of its runs are those that they were trained with, or there are no runs; what else differs cannot be told"
	}
	return strings.Join(list, "; ")
}

// ReadIndex returns how the sweep of a folder stood when its coordinator last looked. One that was changed after it was
// written is refused; one without a seal (Loose) can be looked at.
func ReadIndex(dir string) (*Index, error) {
	x := &Index{}
	name := filepath.Join(dir, IndexFile)
	err := disk.ReadSealed(name, largest, x)
	switch {
	case errors.Is(err, disk.ErrUnsealed):
		x.Check, err = "", nil
	case errors.Is(err, disk.ErrChanged):
		return nil, fmt.Errorf("sweep: %s was changed after it was written%s; put it back from a copy, or remove it: what is done is found "+
			"again by the runs' own seals: %w", name, changedAt(name, x.At), err)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range x.Jobs {
		if !fs.ValidPath(e.Place) || strings.ContainsAny(e.Place, "\\\x00") {
			return nil, fmt.Errorf("sweep: %s: job %.100q is at %.100q, which is not below the folder", name, e.Name, e.Place)
		}
	}
	return x, nil
}

// Loose reports whether nothing vouches for how the sweep stands.
func (x *Index) Loose() bool { return x.Check == "" }

// Fits refuses an index of another sweep: one that has variants which this one does not. A sweep that has just grown
// still has the index of a part of it.
func (s *Sweep) Fits(dir string, x *Index) error {
	for _, e := range x.Jobs {
		if e.Variant != "" && !slices.ContainsFunc(s.Variants, func(v Variant) bool { return v.Name == e.Variant }) {
			return fmt.Errorf("sweep: %s and %s are of different sweeps: the second has %.100s, which the first does not know; put the one back "+
				"that is not of this folder", filepath.Join(dir, sweepFile), filepath.Join(dir, IndexFile), e.Variant)
		}
	}
	return nil
}

// loose refuses to go on with a folder for which nothing vouches.
func loose(dir string, s *Sweep) error {
	x, err := ReadIndex(dir)
	if err == nil {
		if err := s.Fits(dir, x); err != nil {
			return err
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !s.Loose() && (err != nil || !x.Loose()) {
		return nil
	}
	return fmt.Errorf("sweep: %s has no seals, since an earlier program wrote it or somebody took them away: %w. Look at it with hop sweep "+
		"status %[1]s; if it is as you left it, seal it and go on with: hop sweep resume %[1]s --accept-unsealed", dir, ErrUnsealed)
}

// seal vouches for a folder from now on. The index comes first: whoever dies in between can do it again.
func seal(dir string, s *Sweep) error {
	x, err := ReadIndex(dir)
	if err == nil {
		err = x.write(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.WriteSealed(filepath.Join(dir, sweepFile), s)
}

// Sign notes in a sweep's folder that this user wrote what the sweep names to run. The runs
// that come back from workers lie below it, and are the user's with it.
func (s *Sweep) Sign(l *lab.Lab, dir string) error { return l.Reg.Trust.Sign(dir, s.names(l)) }

// allowed refuses a sweep that names programs and that this user neither began nor trusts.
func (s *Sweep) allowed(l *lab.Lab, dir string) error { return names.Allowed(l.Reg, dir, s.names(l)) }

// names returns all that the sweep names to run.
func (s *Sweep) names(l *lab.Lab) []string { return names.OfSpecs(l.Reg, mustJSON(s), sweepFile) }
