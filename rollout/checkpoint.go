package rollout

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hop/game"
	"hop/rng"
)

// AppendBinary appends everything needed to go on from here: each copy's streams
// and the actions of its running episode, which is replayed on loading. Games
// therefore need no binary form of their own.
func (e *Envs) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.env)))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.spec.Seats))
	for n := range e.env {
		v := &e.env[n]
		b, _ = v.before.AppendBinary(b)
		b, _ = v.deal.AppendBinary(b)
		for _, r := range v.act {
			b, _ = r.AppendBinary(b)
		}
		for _, s := range v.seat {
			b = append(b, byte(s))
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(v.episode))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.log)))
		for _, a := range v.log {
			b = append(b, byte(a))
		}
	}
	return b, nil
}

var errShort = errors.New("rollout: loading envs: the saved envs end too early")

// UnmarshalBinary goes on from what AppendBinary wrote, for copies of the same
// game with the same parameters.
func (e *Envs) UnmarshalBinary(b []byte) error {
	if len(b) < 8 {
		return errShort
	}
	if n, seats := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:])); n != len(e.env) || seats != e.spec.Seats {
		return fmt.Errorf("rollout: loading envs: saved were %d envs of %d seats, these are %d of %d", n, seats, len(e.env), e.spec.Seats)
	}
	b = b[8:]
	for n := range e.env {
		var err error
		if b, err = e.load(&e.env[n], b); err != nil {
			return fmt.Errorf("env %d: %w", n, err)
		}
	}
	if len(b) != 0 {
		return fmt.Errorf("rollout: loading envs: %d bytes too many", len(b))
	}
	e.fill = true
	return nil
}

func (e *Envs) load(v *env, b []byte) ([]byte, error) {
	agents := e.spec.Seats
	head := 16*(2+agents) + agents + 12
	if len(b) < head {
		return nil, errShort
	}
	stream := func(r *rng.Rand) {
		r.UnmarshalBinary(b[:16]) // cannot fail on 16 bytes
		b = b[16:]
	}
	stream(&v.before)
	stream(&v.deal)
	for a := range v.act {
		stream(&v.act[a])
	}
	taken := make([]bool, agents)
	for a := range v.seat {
		s := int8(b[a])
		if s < 0 || int(s) >= agents || taken[s] {
			return nil, errors.New("rollout: loading envs: seats are not a permutation")
		}
		v.seat[a], taken[s] = s, true
	}
	b = b[agents:]
	v.episode = int(binary.LittleEndian.Uint64(b))
	size := int(binary.LittleEndian.Uint32(b[8:]))
	if b = b[12:]; len(b) < size || size%agents != 0 {
		return nil, errShort
	}
	v.log = v.log[:0]
	for _, a := range b[:size] {
		v.log = append(v.log, int8(a))
	}
	return b[size:], e.replay(v)
}

// replay plays the running episode again from its log.
func (e *Envs) replay(v *env) error {
	for a := range v.ret {
		v.ret[a], v.life[a], v.goal[a] = 0, 0, game.NoGoal
	}
	v.rules, v.steps = v.before, 0
	v.st.Reset(&v.rules)
	agents := e.spec.Seats
	for at := 0; at < len(v.log); at += agents {
		for s := range v.actions {
			v.actions[s] = int32(v.log[at+s])
		}
		if err := game.Check(e.Game, v.st, v.actions); err != nil {
			return fmt.Errorf("rollout: loading envs: the saved actions do not fit this game: %w", err)
		}
		for a, s := range v.seat {
			if v.st.Alive(game.Seat(s)) {
				v.life[a]++
			}
		}
		v.st.Step(v.actions, v.rewards, &v.rules)
		v.steps++
		for a, s := range v.seat {
			v.ret[a] += float64(v.rewards[s])
			if v.goals != nil {
				if g := v.goals.Reached(game.Seat(s)); g != game.NoGoal {
					v.goal[a] = g
				}
			}
		}
	}
	return nil
}
