package nn_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

func TestAddingALayerChangesNoOtherWeights(t *testing.T) {
	small, large := &nn.Params{}, &nn.Params{}
	small.Dense("b", 4, 5, nn.ReLU)
	large.Dense("a", 7, 3, nn.Tanh)
	large.Dense("b", 4, 5, nn.ReLU)
	small.Init(rng.New(1))
	large.Init(rng.New(1))
	for _, name := range []string{"b/w", "b/b"} {
		p, _ := small.Find(name)
		q, _ := large.Find(name)
		w, _ := small.At(p.Span)
		v, _ := large.At(q.Span)
		if !slices.Equal(w, v) {
			t.Errorf("%s: got %v, want %v", name, v, w)
		}
	}
	w := slices.Clone(small.W)
	small.G[0] = 1
	small.Init(rng.New(1))
	if !slices.Equal(w, small.W) || small.G[0] != 0 {
		t.Error("Init twice with one key gives other weights or leaves gradients")
	}
}

func TestOrthogonalRowsOrColumnsAreOrthonormal(t *testing.T) {
	for _, s := range [][2]int{{5, 5}, {9, 4}, {4, 9}, {1, 6}, {64, 64}} {
		in, out := s[0], s[1]
		w := make([]float32, in*out)
		r := rng.New(1).Rand()
		nn.Orthogonal(3)(w, []int{in, out}, &r)
		n, step, other, size := in, out, 1, out
		if in > out {
			n, step, other, size = out, 1, out, in
		}
		for i := range n {
			for j := range n {
				dot, want := 0., 0.
				for k := range size {
					dot += float64(w[i*step+k*other]) * float64(w[j*step+k*other])
				}
				if i == j {
					want = 9
				}
				if math.Abs(dot-want) > 1e-5 {
					t.Errorf("%v: vectors %d and %d have product %v, want %v", s, i, j, dot, want)
				}
			}
		}
	}
}

// The variance of n draws has a standard error of sqrt(2/n): the bound is 5.
func TestKaimingHasItsVariance(t *testing.T) {
	const in, out = 50, 4000
	w := make([]float32, in*out)
	r := rng.New(1).Rand()
	nn.Kaiming(math.Sqrt2)(w, []int{5, 10, out}, &r)
	if got, want := f32.SumSquares(w)/(in*out), 2./in; math.Abs(got/want-1) > 5*math.Sqrt(2./(in*out)) {
		t.Errorf("variance %v, want %v", got, want)
	}
}

func TestProgrammerErrorsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"one name twice": func() { p := &nn.Params{}; p.Add("a", nn.Zeros, 1); p.Add("a", nn.Zeros, 1) },
		"empty shape":    func() { (&nn.Params{}).Add("a", nn.Zeros, 3, 0) },
		"added too late": func() { p := &nn.Params{}; p.Add("a", nn.Zeros, 1); p.Init(rng.New(1)); p.Add("b", nn.Zeros, 1) },
		"other layout":   func() { (&nn.Params{W: make([]float32, 1)}).CopyFrom(&nn.Params{}) },
		"no shard": func() {
			p := &nn.Params{}
			p.Add("a", nn.Zeros, 1)
			p.Init(rng.New(1))
			nn.NewTrainer[int, nn.Loss](p, nn.TrainerConfig{}, nil, nil)
		},
		"MLP of one size": func() { (&nn.Params{}).MLP("a", nn.ReLU, 3) },
		"temperature":     func() { nn.NewGumbel(1, 1).Sample(nil, nil, nil, 0, nil) },
	} {
		func() {
			defer func() {
				if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "nn: ") {
					t.Errorf("%s: got %v, want a panic with nn's prefix", name, msg)
				}
			}()
			f()
		}()
	}
}

func TestModelsAreSavedAndLoadedExactly(t *testing.T) {
	const m, in = 8, 20
	x, target, ret := random(m*in, "x"), classes(m, 7), random(m, "ret")
	fresh := func(seed uint64) (*actor, *nn.Adam) {
		a := newActor(nn.Tanh, m, in, 16, 12)
		a.p.Init(rng.New(seed))
		opt := nn.NewAdam(a.p, nn.AdamConfig{})
		return a, opt
	}
	train := func(a *actor, opt *nn.Adam) {
		for range 3 {
			a.run(a.p, nil, x, target, ret, nn.Rows{N: m}, true)
			_, err := opt.Step(1e-2, 0.1)
			must(t, err)
		}
	}
	a, opt := fresh(1)
	train(a, opt)
	var f safetensors.File
	a.p.Save(&f, "actor/")
	opt.Save(&f, "adam/")
	b, err := f.AppendBinary(nil)
	must(t, err)
	read, err := safetensors.Parse(b)
	must(t, err)
	c, opt2 := fresh(2)
	must(t, c.p.Load(read, "actor/"))
	must(t, opt2.Load(read, "adam/"))
	train(a, opt)
	train(c, opt2)
	if !slices.Equal(a.p.W, c.p.W) || opt.Steps() != opt2.Steps() {
		t.Error("training goes on differently after loading")
	}
}

func TestLoadingNamesEveryFault(t *testing.T) {
	p := &nn.Params{}
	p.Dense("a", 2, 3, nn.None)
	p.Dense("b", 2, 3, nn.None)
	p.Init(rng.New(1))
	was := slices.Clone(p.W)
	var f safetensors.File
	f.PutFloat32("m/a/w", make([]float32, 6), 3, 2)
	f.PutFloat32("m/a/b", make([]float32, 3), 3)
	f.PutFloat32("m/b/w", make([]float32, 6), 2, 3)
	f.PutFloat32("m/c", make([]float32, 1), 1)
	f.PutFloat32("other", make([]float32, 1), 1)
	err := p.Load(&f, "m/")
	for _, want := range []string{`"m/a/w" has shape [3 2], want [2 3]`, `"m/b/b" is missing`, `the model has no tensor "m/c"`,
		"another version of hop, made these weights"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %s", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), `"other"`) {
		t.Errorf("a tensor outside the prefix was reported: %v", err)
	}
	if !slices.Equal(p.W, was) {
		t.Error("a failed load changed the weights")
	}
	opt := nn.NewAdam(p, nn.AdamConfig{})
	if err := opt.Load(&f, "adam/"); err == nil || !strings.Contains(err.Error(), `"adam/steps" is missing`) {
		t.Errorf("got %v, want the missing steps named", err)
	}
}

// A softmax of a softmax does not compile, nor a cross-entropy of probabilities.
func TestProbabilitiesAreNoLogits(t *testing.T) {
	src := "package x\nimport \"hop/nn\"\nfunc f(p nn.Probs, l nn.Logits, c *nn.Categorical, b *nn.Bernoulli) { %s }"
	list, err := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}", "hop/nn").Output()
	if err != nil {
		t.Skip("no go command to list compiled packages")
	}
	compiled := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		compiled[path] = file
	}
	fset := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })}
	for code, ok := range map[string]bool{
		"nn.Softmax(p, l, 1, 1)": true, "nn.Softmax(p, p, 1, 1)": false, "nn.Softmax(l, l, 1, 1)": false,
		"c.Set(l, nil, 1)": true, "c.Set(p, nil, 1)": false, "c.Set(c.P, nil, 1)": false,
		"b.Set(l, 1)": true, "b.Set(p, 1)": false,
		"c.SoftCrossEntropy(nil, p, nn.Rows{})": true, "c.SoftCrossEntropy(nil, l, nn.Rows{})": false,
	} {
		file, err := parser.ParseFile(fset, "x.go", strings.Replace(src, "%s", code, 1), 0)
		must(t, err)
		_, err = conf.Check("x", fset, []*ast.File{file}, nil)
		if (err == nil) != ok {
			t.Errorf("%s: error %v, want compiling %v", code, err, ok)
		}
	}
}
