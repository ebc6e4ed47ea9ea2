package game

// Failure is what a State panics with when it cannot be played any further because of
// something outside of this program, such as an environment in Python that has died.
// What plays states turns it into an error with Catch.
type Failure struct{ Err error }

// Error says what happened.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Catch, deferred, turns a Failure that ends a function into its error. Other panics
// go on.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Failure:
		*err = r.Err
	default:
		panic(r)
	}
}

// Attempt does something that may end in a Failure.
func Attempt(do func() error) (err error) {
	defer Catch(&err)
	return do()
}
