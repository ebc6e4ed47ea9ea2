package game

// Reads says what besides the places of things and seats and the clock somebody's choice
// depends on.
type Reads uint8

// What may be read.
const (
	ReadsLast Reads = 1 << iota // its own last action
	ReadsDone                   // what seats have done in the episode so far
)

// Reader is a Policy that says what it reads. One that does not may read anything.
type Reader interface {
	Reads() Reads
}

// Key is all that the future of an episode depends on, in few numbers.
type Key struct {
	Episode uint64    // of what is fixed within it; 0: not known to be any other's
	Seats   [8]uint16 // by seat: where it is in bits 0 to 7, what it has done in 8 to 11, its last action + 1 in 12 to 15
	Left    uint64    // of things
	Clock   uint32    // steps so far, and what else counts them
	// Distinct says that seats differ in this episode by more than where they are and what they did.
	Distinct bool
}

// The parts of Key.Seats.
const (
	KeyPlace = 0x00ff
	KeyDone  = 0x0f00
	KeyLast  = 0xf000
)

// Keyed is a State of a deterministic game that can say its Key. Two states with equal keys,
// of one episode, go on alike, whoever plays that reads no more than that.
type Keyed interface {
	// Key writes the key, with what is needed for those reads; false: the game is too large for
	// one.
	Key(dst *Key, reads Reads) bool
}

// SeatKey returns a seat's number of a Key.
func SeatKey(place int16, done int, last int8) uint16 {
	return uint16(uint8(place)) | uint16(done&15)<<8 | uint16(last+1)<<12
}

// Solitary is a State that knows what the last seat that is left can still get.
type Solitary interface {
	// Alone returns the best discounted return of a seat that nobody else plays with any more.
	Alone(s Seat, discount float64) float64
}

// Recaller is a Policy that remembers episodes, in a few numbers that follow from the last
// state of each.
type Recaller interface {
	Policy
	// Memory returns what it remembers; it belongs to the bot.
	Memory() []uint16
	// Remember makes it remember something else.
	Remember(memory []uint16)
	// After writes what it would remember after an episode that ended so; false: the last state
	// does not tell.
	After(dst []uint16, st State, s Seat) bool
}
