package cli

import (
	"fmt"

	"github.com/hop-marl/hop/cmd/cli/complete"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh, fish or powershell." enum:"bash,zsh,fish,powershell"`
}

func (c completionCmd) Run(a *app) error {
	script, err := complete.Script(c.Shell)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.out, script)
	return err
}
