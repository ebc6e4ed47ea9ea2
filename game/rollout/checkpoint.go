package rollout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// The binary form, little endian: magic, the game's name, envs and seats; per
// env its streams, seats, episode, the actions of the running episode, with their
// vectors where actions are vectors, and a checksum of its state's text; last a
// checksum of all that.
const magic = "hopenvs1"

var table = crc32.MakeTable(crc32.Castagnoli)

// AppendBinary appends everything needed to go on from here: each copy's streams
// and the actions of its running episode, which is replayed on loading. Games
// therefore need no binary form of their own. What players remember is theirs
// to save.
func (e *Envs) AppendBinary(b []byte) ([]byte, error) {
	from := len(b)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.spec.Name)))
	b = append(b, e.spec.Name...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.env)))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.spec.Seats))
	var text []byte
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
		b = binary.LittleEndian.AppendUint64(b, uint64(v.episode)<<1|mark(v.mixed))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.log)))
		for _, a := range v.log {
			b = append(b, byte(a))
		}
		for _, x := range v.vectors {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		var err error
		if text, err = v.st.AppendText(text[:0]); err != nil {
			return nil, fmt.Errorf("rollout: saving env %d: %w", n, err)
		}
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(text, table))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], table)), nil
}

func mark(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

var errDamaged = errors.New("rollout: loading envs: the saved envs are damaged or cut short; load an earlier checkpoint")

// UnmarshalBinary goes on from what AppendBinary wrote, for copies of the same
// game with the same parameters. After an error the envs must not be used.
func (e *Envs) UnmarshalBinary(b []byte) (err error) {
	defer game.Catch(&err)
	end := len(b) - 4
	if end < len(magic)+4 {
		return errDamaged
	}
	if string(b[:len(magic)]) != magic {
		return fmt.Errorf("rollout: loading envs: these bytes start with %q, want %q: they are no saved envs, or of another version of hop",
			b[:len(magic)], magic)
	}
	if crc32.Checksum(b[:end], table) != binary.LittleEndian.Uint32(b[end:]) {
		return errDamaged
	}
	b = b[len(magic):end]
	size := int(binary.LittleEndian.Uint32(b))
	if b = b[4:]; size < 0 || size > len(b)-8 {
		return errDamaged
	}
	name := string(b[:size])
	b = b[size:]
	envs, seats := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	if name != e.spec.Name || envs != len(e.env) || seats != e.spec.Seats {
		return fmt.Errorf("rollout: loading envs: saved were %d envs of %q with %d seats, these are %d of %q with %d; use the "+
			"spec of the saved run",
			envs, name, seats, len(e.env), e.spec.Name, e.spec.Seats)
	}
	b = b[8:]
	sums := make([]uint32, len(e.env))
	for n := range e.env {
		if b, sums[n], err = e.load(&e.env[n], b); err != nil {
			return fmt.Errorf("env %d: %w", n, err)
		}
	}
	if len(b) != 0 {
		return fmt.Errorf("rollout: loading envs: %d bytes too many", len(b))
	}
	if err := e.replay(); err != nil {
		return err
	}
	var text []byte
	for n := range e.env {
		if text, err = e.env[n].st.AppendText(text[:0]); err != nil {
			return fmt.Errorf("rollout: loading envs: %w", err)
		}
		if crc32.Checksum(text, table) != sums[n] {
			return fmt.Errorf("env %d: rollout: loading envs: the saved episode, played again, comes to another position; the game's "+
				"parameters or rules have changed. Use the spec of the saved run. The position is now\n%s", n, bytes.TrimSpace(text))
		}
	}
	e.fill = true
	return nil
}

// load reads what was saved of a copy, up to the checksum of its state, which it returns.
func (e *Envs) load(v *env, b []byte) (rest []byte, sum uint32, err error) {
	agents := e.spec.Seats
	head := 16*(2+agents) + agents + 12
	if len(b) < head {
		return nil, 0, errDamaged
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
			return nil, 0, errors.New("rollout: loading envs: seats are not a permutation")
		}
		v.seat[a], taken[s] = s, true
	}
	b = b[agents:]
	word := binary.LittleEndian.Uint64(b)
	v.episode, v.mixed = int(word>>1), word&1 != 0
	size := int(binary.LittleEndian.Uint32(b[8:]))
	if b = b[12:]; v.episode < 0 || size < 0 || size > len(b)-4 || size%agents != 0 {
		return nil, 0, errDamaged
	}
	v.log = v.log[:0]
	for _, a := range b[:size] {
		v.log = append(v.log, int8(a))
	}
	b = b[size:]
	if b, err = e.loadVectors(v, b); err != nil {
		return nil, 0, err
	}
	return b[4:], binary.LittleEndian.Uint32(b), nil
}

// loadVectors reads the vectors of the actions that were read last, where actions are vectors.
func (e *Envs) loadVectors(v *env, b []byte) ([]byte, error) {
	if !e.spec.Continuous {
		return b, nil
	}
	size := len(v.log) * len(e.spec.Actions)
	if size > (len(b)-4)/4 {
		return nil, errDamaged
	}
	v.vectors = v.vectors[:0]
	for i := range size {
		v.vectors = append(v.vectors, math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return b[4*size:], nil
}

// replay plays the running episodes again from their logs, side by side.
func (e *Envs) replay() error {
	for n := range e.env {
		v := &e.env[n]
		for a := range v.ret {
			v.ret[a], v.paid[a], v.life[a], v.goal[a] = 0, 0, 0, game.NoGoal
		}
		v.rules, v.steps = v.before, 0
	}
	e.resetAll()
	agents, wk := e.spec.Seats, &e.worker[0]
	acted := make([]bool, len(e.env)*agents)
	for at, going := 0, true; going; at += agents {
		going = false
		wk.none()
		for n := range e.env {
			v := &e.env[n]
			if at >= len(v.log) {
				continue
			}
			going = true
			for s := range v.actions {
				v.actions[s] = int32(v.log[at+s])
			}
			if err := game.Check(e.Game, v.st, v.actions); err != nil {
				return fmt.Errorf("env %d: rollout: loading envs: the saved actions do not fit this game; use the spec of the saved run: %w", n, err)
			}
			if k := len(e.spec.Actions); v.vector != nil {
				copy(v.vector.Vectors(), v.vectors[at*k:(at+agents)*k])
			}
			for a, s := range v.seat {
				acted[n*agents+a] = v.st.Alive(game.Seat(s))
			}
			if e.batched == nil {
				v.st.Step(v.actions, v.rewards, &v.rules)
			} else {
				wk.add(v, true)
			}
		}
		if e.batched != nil && going {
			e.batched.StepAll(wk.states, wk.actions, wk.rewards, wk.rules)
		}
		for n := range e.env {
			if v := &e.env[n]; at < len(v.log) {
				v.count(acted[n*agents : (n+1)*agents])
			}
		}
	}
	return nil
}

// count adds a step that was played again to what is known of the episode.
func (v *env) count(acted []bool) {
	v.steps++
	for a, s := range v.seat {
		if !acted[a] {
			continue
		}
		v.life[a]++
		v.ret[a] += float64(v.rewards[s])
		v.paid[a] = v.rewards[s]
		if v.goals != nil {
			if g := v.goals.Reached(game.Seat(s)); g != game.NoGoal {
				v.goal[a] = g
			}
		}
	}
}
