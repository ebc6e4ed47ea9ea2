package nn_test

import (
	"fmt"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// A policy with a value head on sparse observations, and one step of training.
func Example() {
	const obs, actions, rows = 144, 7, 4
	p := &nn.Params{}
	trunk := p.MLP("trunk", nn.ReLU, obs, 64, 64)
	pi := p.Dense("pi", 64, actions, nn.None, nn.Orthogonal(0.01))
	v := p.Dense("v", 64, 1, nn.None)
	p.Init(rng.New(1).Child("init"))
	opt := nn.NewAdam(p, nn.AdamConfig{Eps: 1e-5})

	// Once per batch size: workspaces, heads, gradients.
	ws, cat := trunk.Work(rows), nn.NewCategorical(actions, rows)
	logits, dlogits := make(nn.Logits, rows*actions), make([]float32, rows*actions)
	value, dvalue := make([]float32, rows), make([]float32, rows)

	var x f32.Sparse
	x.Reset(obs)
	for i := range rows {
		x.AppendEntry(int32(i), 1)
		x.EndRow()
	}
	target, returns := []int32{0, 1, 2, nn.NoClass}, []float32{1, 0, -1, 0}
	alive := nn.Rows{N: rows, Alive: []bool{true, true, true, false}}
	for range 200 {
		trunk.ForwardSparse(p, ws, &x)
		pi.Forward(p, logits, ws.Y, rows)
		v.Forward(p, value, ws.Y, rows)

		clear(dlogits)
		clear(dvalue)
		cat.Set(logits, nil, rows)
		cat.CrossEntropy(dlogits, target, nil, alive)
		nn.MSE(dvalue, value, returns, 1, alive)

		pi.Backward(p, ws.DY, dlogits, ws.Y, logits, rows)
		v.BackwardAdd(p, ws.DY, dvalue, ws.Y, value, rows)
		trunk.BackwardSparse(p, ws, &x)
		if _, err := opt.Step(1e-2, 0.5); err != nil {
			panic(err)
		}
	}
	loss := cat.CrossEntropy(nil, target, nil, alive)
	fmt.Printf("%.2f over %d rows; best actions %d %d %d\n", loss.Mean(), loss.Rows, cat.Mode(0), cat.Mode(1), cat.Mode(2))
	// Output: 0.00 over 3 rows; best actions 0 1 2
}
