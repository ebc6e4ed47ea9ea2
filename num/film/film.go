// Package film makes moving pictures: of patches that are painted once, and into a
// GIF by itself or an MP4 with the help of ffmpeg.
//
// Pictures are numbers of one palette's colours, whose first is clear and never
// shown. They are handed over whole, one after the other; a GIF keeps of each
// what differs from the one before. The same pictures give the same GIF.
package film

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// GIF writes pictures of one size. It keeps them until Close.
type GIF struct {
	w      io.Writer
	wide   int
	before []uint8 // [height][wide] the picture before
	pix    []uint8 // what changed
	packed []byte
	packer packer
	out    []byte
}

// NewGIF returns a GIF without pictures. A palette has 2 to 256 colours.
func NewGIF(w io.Writer, palette color.Palette, wide, high int) *GIF {
	g := &GIF{w: w, wide: wide, before: make([]uint8, wide*high)}
	g.out = append([]byte("GIF89a"), byte(wide), byte(wide>>8), byte(high), byte(high>>8), 0x87, 0, 0) // 256 colours
	var colours [256 * 3]byte
	for i, c := range palette {
		r, g, b, _ := c.RGBA()
		colours[3*i], colours[3*i+1], colours[3*i+2] = byte(r>>8), byte(g>>8), byte(b>>8)
	}
	g.out = append(g.out, colours[:]...)
	g.out = append(g.out, "\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"...) // again and again
	return g
}

// Add shows a picture for a time.
func (g *GIF) Add(picture []uint8, wait time.Duration) {
	at := g.changes(picture)
	copy(g.before, picture)
	word := binary.LittleEndian.AppendUint16
	hundredths := min(max(wait/(10*time.Millisecond), 2), math.MaxUint16)
	g.out = append(word(append(g.out, 0x21, 0xf9, 4, 5), uint16(hundredths)), 0, 0) // what came before stays; 0 is clear
	g.out = append(g.out, 0x2c)
	for _, v := range []int{at.Min.X, at.Min.Y, at.Dx(), at.Dy()} {
		g.out = word(g.out, uint16(v))
	}
	g.out = append(g.out, 0, 8)
	g.packed = g.packer.pack(g.packed[:0], g.pix)
	for block := range slices.Chunk(g.packed, 255) {
		g.out = append(append(g.out, byte(len(block))), block...)
	}
	g.out = append(g.out, 0)
}

// changes writes to pix the smallest part of the picture that differs from the
// one before, and returns where it is. What is alike is clear there, which packs
// to almost nothing.
func (g *GIF) changes(picture []uint8) image.Rectangle {
	r := image.Rectangle{}
	for y := range len(picture) / g.wide {
		was, is := g.before[y*g.wide:][:g.wide], picture[y*g.wide:][:g.wide]
		if bytes.Equal(was, is) {
			continue
		}
		from, to := 0, g.wide
		for was[from] == is[from] {
			from++
		}
		for was[to-1] == is[to-1] {
			to--
		}
		r = r.Union(image.Rect(from, y, to, y+1))
	}
	if r.Empty() {
		r = image.Rect(0, 0, 1, 1)
	}
	g.pix = append(g.pix[:0], make([]uint8, r.Dx()*r.Dy())...)
	for y := range r.Dy() {
		at, out := (r.Min.Y+y)*g.wide+r.Min.X, g.pix[y*r.Dx():][:r.Dx()]
		was, is := g.before[at:][:len(out)], picture[at:][:len(out)]
		if bytes.Equal(was, is) {
			continue
		}
		for x, v := range is {
			if v != was[x] {
				out[x] = v
			}
		}
	}
	return r
}

// Close writes the GIF.
func (g *GIF) Close() error {
	if _, err := g.w.Write(append(g.out, 0x3b)); err != nil {
		return fmt.Errorf("film: writing the GIF: %w", err)
	}
	return nil
}

// Film takes pictures, one after the other, and is written by Close.
type Film interface {
	Add(picture []uint8, wait time.Duration)
	Close() error
}

// File is a film that is there whole or not at all.
type File struct {
	Film
	path string
	part *os.File
}

// isMP4 says what a film of that name is.
func isMP4(path string) bool { return strings.EqualFold(filepath.Ext(path), ".mp4") }

// Possible says why a film of that name cannot be written, if that is known before
// its first picture.
func Possible(path string) error {
	if isMP4(path) {
		if _, err := exec.LookPath("ffmpeg"); err != nil {
			return errNoFFmpeg
		}
	}
	return nil
}

// Create begins a film: an MP4 if its name ends so, or a GIF. An MP4's pictures are
// shown for multiples of beat.
func Create(ctx context.Context, path string, palette color.Palette, wide, high int, beat time.Duration) (*File, error) {
	if err := Possible(path); err != nil {
		return nil, err
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".film-*"+filepath.Ext(path))
	if err != nil {
		return nil, err
	}
	f := &File{path: path, part: part}
	if !isMP4(path) {
		f.Film = NewGIF(part, palette, wide, high)
	} else if f.Film, err = newMP4(ctx, part.Name(), palette, wide, high, beat); err != nil {
		return nil, errors.Join(err, part.Close(), os.Remove(part.Name()))
	}
	return f, nil
}

// Close puts the film in its place, or takes away what there is of it.
func (f *File) Close() error {
	err := errors.Join(f.Film.Close(), f.part.Chmod(0o644), f.part.Close())
	if err == nil {
		err = os.Rename(f.part.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.part.Name()))
	}
	return nil
}

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

// Inks maps colours to a palette of at most 256, whose first is clear.
type Inks struct {
	Palette color.Palette
	known   map[color.RGBA]uint8
}

// NewInks returns inks that have only the clear one.
func NewInks() *Inks {
	return &Inks{Palette: color.Palette{color.RGBA{}}, known: map[color.RGBA]uint8{}}
}

// Add adds a colour unless it is there or the palette is full.
func (k *Inks) Add(c color.RGBA) {
	if _, ok := k.known[c]; !ok && len(k.Palette) < 256 {
		k.known[c] = uint8(len(k.Palette))
		k.Palette = append(k.Palette, c)
	}
}

// Paint returns src, which is clear nowhere, in the palette's colours.
func (k *Inks) Paint(src *image.RGBA) []uint8 {
	dst := make([]uint8, len(src.Pix)/4)
	last, v := uint32(0), uint8(0)
	for i := range dst {
		c := binary.LittleEndian.Uint32(src.Pix[4*i:])
		if c != last { // most pixels are like the one before
			last, v = c, k.nearest(color.RGBA{uint8(c), uint8(c >> 8), uint8(c >> 16), 255})
		}
		dst[i] = v
	}
	return dst
}

// nearest is the palette's colour that is nearest to c, never the clear one.
func (k *Inks) nearest(c color.RGBA) uint8 {
	v, ok := k.known[c]
	if !ok {
		v = uint8(k.Palette[1:].Index(c) + 1)
		k.known[c] = v
	}
	return v
}

// Picture is made of patches. A patch is painted once for all that it ever shows,
// and copied wherever that is shown again.
type Picture struct {
	*Inks
	Pix     []uint8 // [high][wide]
	wide    int
	shown   map[image.Rectangle]string // what the patches show
	painted map[string][]uint8         // patches by what they show
}

// NewPicture returns a picture that is clear.
func NewPicture(inks *Inks, wide, high int) *Picture {
	p := &Picture{Inks: inks, Pix: make([]uint8, wide*high), wide: wide}
	p.Forget()
	return p
}

// Forget makes all patches be painted anew.
func (p *Picture) Forget() {
	p.shown, p.painted = map[image.Rectangle]string{}, map[string][]uint8{}
}

// Shows reports whether a patch shows what a key says.
func (p *Picture) Shows(r image.Rectangle, key string) bool {
	was, ok := p.shown[r]
	return ok && was == key
}

// Patch shows at r what a key says: all that is to be seen there, after what kind
// of patch it is; patches of a kind are of one size. Only if that was never painted
// before, draw draws it.
func (p *Picture) Patch(r image.Rectangle, key string, draw func() *image.RGBA) {
	if p.Shows(r, key) {
		return
	}
	p.shown[r] = key
	pix, ok := p.painted[key]
	if !ok {
		pix = p.Paint(draw())
		p.painted[key] = pix
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(p.Pix[y*p.wide+r.Min.X:][:r.Dx()], pix)
		pix = pix[r.Dx():]
	}
}
