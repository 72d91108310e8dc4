package command

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/platform"
)

// parseRole reads the policy of one role, such as ps=gang,optional.
func (o *options) parseRole(s string) error {
	role, policy, found := strings.Cut(s, "=")
	restart, optional, both := strings.Cut(policy, ",")
	if !found || role == "" || both && optional != "optional" {
		return errors.New("want ROLE=gang, self or never, and ,optional where success does not wait for it, such as ps=gang,optional")
	}
	p := rendezvous.RolePolicy{Optional: both}
	if err := choice(&p.Restart, rendezvous.RestartGang, rendezvous.RestartSelf, rendezvous.RestartNever)(restart); err != nil {
		return err
	}
	if o.roles == nil {
		o.roles = map[string]rendezvous.RolePolicy{}
	}
	o.roles[role] = p
	return nil
}

// roleMapping reads what the configuration file says about roles: for each, restart and required-for-success.
func roleMapping(node *yaml.Node) (values []string, err error) {
	for i := 0; i < len(node.Content); i += 2 {
		role, policy := node.Content[i].Value, node.Content[i+1]
		if policy.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s: want restart and required-for-success", role)
		}
		restart, optional := rendezvous.RestartGang, ""
		for j := 0; j < len(policy.Content); j += 2 {
			switch key, value := policy.Content[j].Value, policy.Content[j+1].Value; key {
			case "restart":
				restart = value
			case "required-for-success":
				required, err := strconv.ParseBool(value)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %s: want true or false", role, key, value)
				}
				if !required {
					optional = ",optional"
				}
			default:
				return nil, fmt.Errorf("%s: unknown key %q%s", role, key, nearest(key, []string{"restart", "required-for-success"}))
			}
		}
		values = append(values, role+"="+restart+optional)
	}
	return values, nil
}

// settleRoles decides the policy of each role: flags come before what follows from the operator's variables.
func (o *options) settleRoles(p platform.Platform) {
	o.spec.Roles = maps.Clone(p.Roles)
	if o.spec.Roles == nil {
		o.spec.Roles = o.roles
		return
	}
	maps.Copy(o.spec.Roles, o.roles)
}
