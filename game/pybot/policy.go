// Package pybot is a policy in Python as a player: a function, an object that remembers, or an
// ONNX file.
//
// One process (python -m hop_marl.player) decides for all copies of a policy that play; what seats
// see and do lies in memory that both sides see, and one message a step goes to it. Every copy of
// a game has a memory of its own. What chance a policy needs it makes from a seed that comes with
// every decision, so the same seeds give the same episodes.
//
// A policy that raises, hangs or answers what is no legal action is a game.Failure that names it,
// the life, the episode and the step, and its process is ended. Nothing here asks whether a policy
// may run: whoever opens one has been told to by the user, or has asked package trust.
package pybot

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/bridge"
)

// What names of such policies begin or end with.
const (
	function = "py:"
	network  = ".onnx"
)

// Is reports whether a name stands for a policy in Python: py:MODULE:FUNCTION, or FILE.onnx.
func Is(name string) bool {
	return strings.HasPrefix(name, function) || strings.HasSuffix(name, network)
}

// Executes says what opening the policy runs.
func Executes(name string) string { return fmt.Sprintf("\"python3 -m hop_marl.player\" with %s", name) }

// openPatience is how long a policy may take to be imported; tests have less.
var openPatience = 2 * time.Minute

// looks is how often within its time limit it is looked whether a policy still decides.
const looks = 4

// Policy is a policy whose process runs. Make it with Open.
type Policy struct {
	name      string
	remembers bool
	spec      game.Spec

	lock   sync.Mutex // of what is asked, and of all below
	peer   *bridge.Peer
	blocks int
	failed error // why no more can be asked

	freeLock sync.Mutex
	free     map[int][]*block // by copies: memory that nobody plays with any more

	watch sync.Mutex // of all below
	limit time.Duration
	timer *time.Timer
	asked *block // what is being decided; nil: nothing
	seen  int64  // calls, when it was last looked
	still int    // looks since then that saw no other
	late  bool
}

// key is what policies that were opened differ by.
type key struct {
	name, game   string
	obs, actions int
}

// opened are the policies that this program has opened: naming one again starts nothing.
var opened struct {
	sync.Mutex
	policies map[key]*Policy
}

// Open starts a policy for a game, or says why that cannot be.
func Open(g game.Game, name string) (*Policy, error) {
	spec := g.Spec()
	if err := spec.Discrete("a policy in Python"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	k := key{name, spec.Name, spec.Obs.Len(), len(spec.Actions)}
	opened.Lock()
	defer opened.Unlock()
	if p := opened.policies[k]; p != nil {
		return p, nil
	}
	p := &Policy{name: name, spec: spec, free: map[int][]*block{}}
	if err := p.open(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if opened.policies == nil {
		opened.policies = map[key]*Policy{}
	}
	opened.policies[k] = p
	return p, nil
}

// Close ends all processes. Policies that were opened cannot play any more.
func Close() {
	opened.Lock()
	defer opened.Unlock()
	var wg sync.WaitGroup
	for _, p := range opened.policies {
		wg.Go(func() {
			if !p.lock.TryLock() { // it decides, however long that takes
				p.peer.Kill()
				p.lock.Lock()
			}
			defer p.lock.Unlock()
			_ = p.fail(fmt.Errorf("%s was closed", p.name))
		})
	}
	wg.Wait()
	opened.policies = nil
}

// open starts the process and lets it import the policy.
func (p *Policy) open() (err error) {
	if strings.HasSuffix(p.name, network) {
		if _, err := os.Stat(p.name); err != nil {
			return fmt.Errorf("there is no such file: %w", err)
		}
	}
	if p.peer, err = bridge.Python("hop_marl.player", "", ""); err != nil {
		return err
	}
	var about struct {
		Limit     float64 // seconds that a decision may take
		Remembers bool
	}
	late := time.AfterFunc(openPatience, p.peer.Kill)
	err = p.peer.Call("open", map[string]any{
		"policy": strings.TrimPrefix(p.name, function), "game": p.spec.Name, "actions": p.spec.Actions, "numbers": p.spec.Obs.Len(),
	}, &about)
	if !late.Stop() && err != nil {
		err = fmt.Errorf("it was not imported within %v: %w", openPatience, err)
	}
	if err != nil {
		return errors.Join(bridge.Traced(err), p.peer.Close())
	}
	p.remembers, p.limit = about.Remembers, time.Duration(about.Limit*float64(time.Second))
	p.timer = time.AfterFunc(p.limit, p.look)
	p.timer.Stop()
	return nil
}

// Remembers reports whether it keeps a memory from decision to decision, which only its own process
// knows.
func (p *Policy) Remembers() bool { return p.remembers }

// fail ends the process and returns why, from now on to everybody who asks.
func (p *Policy) fail(why error) error {
	if p.failed == nil {
		p.failed = errors.Join(why, p.peer.Close())
	}
	return p.failed
}

// look ends the process if it has made no decision for as long as one may take.
func (p *Policy) look() {
	p.watch.Lock()
	defer p.watch.Unlock()
	if p.asked == nil {
		return
	}
	if now := p.asked.calls[0]; now != p.seen {
		p.seen, p.still = now, 0
	} else {
		p.still++
	}
	if p.still >= looks {
		p.late = true
		p.peer.Kill()
		return
	}
	p.timer.Reset(p.limit / looks)
}

// decide lets the process decide what is marked in a block. It is called under the lock.
func (p *Policy) decide(b *block) error {
	p.watch.Lock()
	p.asked, p.seen, p.still = b, -1, 0
	p.timer.Reset(p.limit / looks)
	p.watch.Unlock()
	err := p.peer.Tick(uint32(b.number))
	p.watch.Lock()
	defer p.watch.Unlock()
	p.asked = nil
	p.timer.Stop()
	if p.late {
		return fmt.Errorf("it has not answered for %v, and was ended\n%s", p.limit, p.peer.Wrote())
	}
	return bridge.Traced(err)
}
