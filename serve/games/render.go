package games

import (
	"errors"
	"fmt"

	"github.com/hop-marl/hop/lab/play"
)

// film keeps the slot of copy 0 for pictures: an episode's first, if nothing was played.
func (w *worker) film(actions []int32, rewards []float32) {
	st := w.live.State(0)
	if actions == nil {
		w.rec.Drop()
		w.rec.Start(st, "", w.names, play.Info{})
		return
	}
	w.rec.Add(st, play.Info{Actions: actions, Rewards: rewards})
}

// render returns the picture of copy 0 that hop play shows: as text, or as pixels.
func (s *Server) render(mode string) (any, error) {
	if s.rec == nil || len(s.rec.Frames()) == 0 {
		return nil, errors.New("there is nothing to draw: make the env with a render_mode, and reset it first")
	}
	switch mode {
	case "ansi":
		return map[string]any{"text": s.rec.Last().Text()}, nil
	case "rgb_array":
		pixels, wide, high, err := play.Pixels(s.rec.Last())
		return map[string]any{"pixels": pixels, "width": wide, "height": high}, err
	}
	return nil, fmt.Errorf("mode is %q, want ansi or rgb_array", mode)
}
