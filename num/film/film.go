// Package film makes moving pictures: of patches that are painted once, and into a
// GIF by itself or an MP4 with the help of ffmpeg.
//
// Pictures are numbers of one palette's colours, whose first is clear and never
// shown. They are handed over whole, one after the other; a GIF keeps of each
// what differs from the one before. The same pictures give the same GIF.
package film

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"slices"
	"time"
)

// GIF writes pictures of one size. It keeps them until Close.
type GIF struct {
	w      io.Writer
	wide   int
	before []uint8 // [height][wide] the picture before
	pix    []uint8 // what changed
	packer *lzw.Writer
	packed bytes.Buffer
	out    []byte
}

// NewGIF returns a GIF without pictures. A palette has 2 to 256 colours.
func NewGIF(w io.Writer, palette color.Palette, wide, high int) *GIF {
	g := &GIF{w: w, wide: wide, before: make([]uint8, wide*high), packer: lzw.NewWriter(nil, lzw.LSB, 8).(*lzw.Writer)}
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
	g.packed.Reset()
	g.packer.Reset(&g.packed, lzw.LSB, 8)
	_, _ = g.packer.Write(g.pix) // a buffer takes everything
	_ = g.packer.Close()
	for block := range slices.Chunk(g.packed.Bytes(), 255) {
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
