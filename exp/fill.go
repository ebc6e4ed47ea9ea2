package exp

// Fill puts the folders of prepared stages in place of their names, {NAME}, in
// every field that names a folder.
func (s *Spec) Fill(fill func(string) string) {
	m := &s.Models
	for _, field := range []*string{&s.Imagine.World, &m.VAE, &m.CVAE, &m.MOA, &m.World, &m.Response} {
		*field = fill(*field)
	}
}
