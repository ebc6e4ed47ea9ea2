package card

// Break lets whatever is launched for an answer fail, until the function that it returns is called.
func (c *Card) Break() (mend func()) {
	each := func(do func(l *layer)) {
		c.ask(&order{do: func(d *device) (err error) {
			for _, s := range c.shapes {
				if err = s.forget(d); err != nil {
					return err
				}
				do(&s.layers[0])
			}
			return nil
		}})
	}
	each(func(l *layer) { l.Out = -l.Out })
	return func() { each(func(l *layer) { l.Out = -l.Out }) }
}
