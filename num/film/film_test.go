package film

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"testing"
	"time"
)

var red, blue = color.RGBA{200, 0, 0, 255}, color.RGBA{0, 0, 200, 255}

func TestAPatchIsPaintedOnce(t *testing.T) {
	inks := NewInks()
	inks.Add(red)
	inks.Add(blue)
	p := NewPicture(inks, 4, 2)
	drawn := 0
	patch := func(x int, key string, c color.RGBA) {
		p.Patch(image.Rect(x, 0, x+2, 2), key, func() *image.RGBA {
			drawn++
			img := image.NewRGBA(image.Rect(0, 0, 2, 2))
			draw.Draw(img, img.Rect, image.NewUniform(c), image.Point{}, draw.Src)
			return img
		})
	}
	patch(0, "red", red)
	patch(2, "red", red)
	patch(0, "red", red)
	patch(2, "nearly blue", color.RGBA{10, 0, 190, 255})
	patch(2, "red", red)
	patch(0, "nearly blue", blue)
	if want := []uint8{2, 2, 1, 1, 2, 2, 1, 1}; drawn != 2 || !bytes.Equal(p.Pix, want) {
		t.Errorf("%d patches were drawn, want 2; the picture is %v, want %v", drawn, p.Pix, want)
	}
	p.Forget()
	if patch(0, "red", red); drawn != 3 {
		t.Error("what is forgotten is not drawn anew")
	}
}

// Images of a GIF hold what changed, and nothing else: laid over each other they are
// the pictures.
func TestGIFKeepsWhatChanged(t *testing.T) {
	var b bytes.Buffer
	g := NewGIF(&b, color.Palette{color.RGBA{}, red, blue}, 3, 2)
	pictures := [][]uint8{{1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 2, 1}, {1, 1, 1, 1, 2, 1}, {2, 1, 1, 1, 2, 2}}
	for _, p := range pictures {
		g.Add(p, 300*time.Millisecond)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := gif.DecodeAll(&b)
	if err != nil || len(got.Image) != len(pictures) {
		t.Fatalf("%d images, %v, want %d", len(got.Image), err, len(pictures))
	}
	page := image.NewRGBA(image.Rect(0, 0, 3, 2))
	for i, img := range got.Image {
		draw.Draw(page, img.Rect, img, img.Rect.Min, draw.Over)
		for j, v := range pictures[i] {
			if c := page.RGBAAt(j%3, j/3); c != []color.RGBA{{}, red, blue}[v] {
				t.Errorf("picture %d at %d: %v", i, j, c)
			}
		}
		if got.Delay[i] != 30 {
			t.Errorf("picture %d is shown for %d hundredths, want 30", i, got.Delay[i])
		}
	}
	if want := image.Rect(1, 1, 2, 2); got.Image[1].Rect != want {
		t.Errorf("one pixel changed, and %v is stored, want %v", got.Image[1].Rect, want)
	}
}
