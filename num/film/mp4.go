package film

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os/exec"
	"strings"
	"time"
)

// errNoFFmpeg says that there is no ffmpeg, and what to do about it.
var errNoFFmpeg = errors.New("an MP4 is written with ffmpeg, which is not installed: " +
	"install it (apt install ffmpeg, brew install ffmpeg or winget install ffmpeg), or choose a name that ends in .gif")

// mp4 hands pictures of one size to ffmpeg.
type mp4 struct {
	cmd    *exec.Cmd
	pipe   io.WriteCloser
	says   bytes.Buffer // what ffmpeg complains of
	colour [256][3]byte
	raw    []byte // [height][wide] red, green, blue
	beat   time.Duration
	err    error // the first
}

// newMP4 starts ffmpeg, which writes to path. Pictures are shown for multiples of
// beat.
func newMP4(ctx context.Context, path string, palette color.Palette, wide, high int, beat time.Duration) (*mp4, error) {
	m := &mp4{raw: make([]byte, 3*wide*high), beat: beat}
	for i, c := range palette {
		r, g, b, _ := c.RGBA()
		m.colour[i] = [3]byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)}
	}
	m.cmd = exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-y",
		"-f", "rawvideo", "-pix_fmt", "rgb24", "-s", fmt.Sprintf("%dx%d", wide, high),
		"-framerate", fmt.Sprintf("1000000/%d", beat.Microseconds()), "-i", "-",
		"-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-r", "25", "-movflags", "+faststart", path) // as browsers want it
	m.cmd.Stderr = &m.says
	var err error
	if m.pipe, err = m.cmd.StdinPipe(); err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("film: starting ffmpeg: %w", err)
	}
	return m, nil
}

// Add shows a picture for a time. What goes wrong is said by Close.
func (m *mp4) Add(picture []uint8, wait time.Duration) {
	for i, v := range picture {
		copy(m.raw[3*i:], m.colour[v][:])
	}
	for range max(1, (wait+m.beat/2)/m.beat) {
		if m.err == nil {
			_, m.err = m.pipe.Write(m.raw)
		}
	}
}

// Close waits until the MP4 is written.
func (m *mp4) Close() error {
	m.err = errors.Join(m.err, m.pipe.Close())
	if err := m.cmd.Wait(); err != nil {
		lines := strings.Split(strings.TrimSpace(m.says.String()), "\n")
		return fmt.Errorf("film: ffmpeg failed (%w): %s", err, lines[len(lines)-1])
	}
	return m.err
}
