package platform

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/rendezvous"
)

// TFConfig is the variable TF_CONFIG, as far as it matters here. Its cluster lists addresses by role; in the sparse form,
// of a TFJob with dynamic workers, a role may be a mapping from an index to an address instead.
type TFConfig struct {
	Cluster map[string]json.RawMessage `json:"cluster"`
	Task    struct {
		Type  string `json:"type"`
		Index any    `json:"index"` // a number, or one in quotes
	} `json:"task"`
}

// ParseTFConfig reads the variable. TensorFlow takes an absent one for a single machine. The error says what in it is invalid.
func ParseTFConfig(text string) (c TFConfig, err error) {
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return TFConfig{}, fmt.Errorf("TF_CONFIG: %w", err)
	}
	return c, nil
}

// Index is the task's own index among those of its role.
func (c TFConfig) Index() (int, bool) {
	switch v := c.Task.Index.(type) {
	case float64:
		return int(v), v == float64(int(v)) && v >= 0
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil && n >= 0
	}
	return 0, false
}

// Addresses are those of a role. They are not known in the sparse form.
func (c TFConfig) Addresses(role string) (list []string, known bool) {
	raw, found := c.Cluster[role]
	return list, !found || json.Unmarshal(raw, &list) == nil
}

func (c TFConfig) has(role string) bool {
	list, known := c.Addresses(role)
	return !known || len(list) > 0
}

// tfRoles are TensorFlow's, in the order in which their tasks get ranks.
var tfRoles = []string{"chief", "master", "worker", "ps", "evaluator"}

// Policies are how the roles of the cluster take part in restarts and in success, as the strategies of TensorFlow need it
// and users of a TFJob expect it. The chief's success is the job's; without a chief it is that of all workers. What a
// parameter server holds is lost with it, so that all resume from the checkpoint; its workers are another matter, the
// chief gives their work to others until they are back. Neither ends by itself. An evaluator's trouble is its own.
func (c TFConfig) Policies() map[string]rendezvous.RolePolicy {
	alone := rendezvous.RolePolicy{Restart: rendezvous.RestartSelf, Optional: true}
	policies := map[string]rendezvous.RolePolicy{}
	if c.has("ps") {
		policies["ps"] = rendezvous.RolePolicy{Restart: rendezvous.RestartGang, Optional: true}
		if c.has("chief") || c.has("master") {
			policies["worker"] = alone
		}
	}
	if c.has("evaluator") {
		policies["evaluator"] = alone
	}
	if len(policies) == 0 {
		return nil
	}
	return policies
}

// tfConfig is the variable, if there is one that makes sense.
func (e environment) tfConfig() (c TFConfig, ok bool) {
	if !e.has("TF_CONFIG") {
		return TFConfig{}, false
	}
	c, err := ParseTFConfig(e.get("TF_CONFIG"))
	return c, err == nil
}

// tfJob is the name of the TFJob, from this task's own address <job>-<type>-<index>.<namespace>.svc:<port>, or "" when
// TF_CONFIG is not of that operator's making.
func (e environment) tfJob() string {
	config, ok := e.tfConfig()
	if !ok {
		return ""
	}
	pattern := fmt.Sprintf(`"([a-z0-9.-]+)-%s-\d+\.[a-z0-9-]+\.svc[^"]*"`, regexp.QuoteMeta(strings.ToLower(config.Task.Type)))
	if m := regexp.MustCompile(pattern).FindSubmatch(config.Cluster[config.Task.Type]); m != nil {
		return string(m[1])
	}
	return ""
}

// topology is that of a TFJob: every task of the cluster is a node. The sparse form does not list them all and says
// nothing here.
func (c TFConfig) topology() (t Topology) {
	nodes, rank := 0, -1
	for _, role := range tfRoles {
		tasks, known := c.Addresses(role)
		if !known {
			return Topology{}
		}
		if index, ok := c.Index(); ok && role == strings.ToLower(c.Task.Type) && index < len(tasks) {
			rank = nodes + index
		}
		if nodes == 0 && len(tasks) > 0 {
			if host, _, err := net.SplitHostPort(tasks[0]); err == nil {
				t.Endpoint = Value{host, "TF_CONFIG"}
			}
		}
		nodes += len(tasks)
	}
	if nodes < 2 || rank < 0 {
		return Topology{}
	}
	t.Nodes, t.Rank = Value{strconv.Itoa(nodes), "TF_CONFIG"}, Value{strconv.Itoa(rank), "TF_CONFIG"}
	t.Unique = true
	return t
}

// Only is the configuration for a round in which only these hosts take part: the others' addresses are left out, and the
// task's index is its place among those that are left. A host is known by the first label of its address. The text stays
// as it is where it lists no more than take part, in the sparse form, which names no worker but the task itself, and where
// it is invalid, which TensorFlow says best.
func Only(text string, hosts []string) (string, error) {
	c, err := ParseTFConfig(text)
	index, ok := c.Index()
	if err != nil || !ok {
		return text, nil
	}
	listed, kept, place := 0, 0, -1
	cluster := map[string][]string{}
	for role := range c.Cluster {
		addresses, known := c.Addresses(role)
		if !known {
			return text, nil
		}
		for i, address := range addresses {
			listed++
			if !slices.Contains(hosts, hostOf(address)) {
				continue
			}
			kept++
			if role == c.Task.Type && i == index {
				place = len(cluster[role])
			}
			cluster[role] = append(cluster[role], address)
		}
	}
	switch {
	case listed <= len(hosts):
		return text, nil
	case kept != len(hosts) || place < 0:
		return "", fmt.Errorf("TF_CONFIG lists %d tasks; those of the %d nodes that take part cannot be told by their names", listed, len(hosts))
	}
	return replaced(text, cluster, place)
}

// replaced is the configuration with another cluster and another index, and all else as it was.
func replaced(text string, cluster map[string][]string, index int) (string, error) {
	var whole map[string]any
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return "", fmt.Errorf("TF_CONFIG: %w", err)
	}
	task, ok := whole["task"].(map[string]any)
	if !ok { // "Task", which is no task to TensorFlow
		return text, nil
	}
	task["index"] = index
	whole["cluster"] = cluster
	out, err := json.Marshal(whole)
	return string(out), err
}

// host is the name by which the cluster knows the task itself.
func (c TFConfig) host() string {
	addresses, _ := c.Addresses(c.Task.Type)
	if index, ok := c.Index(); ok && index < len(addresses) {
		return hostOf(addresses[index])
	}
	return ""
}

// hostOf is the first label of the host in an address, or its IP address.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	if net.ParseIP(address) != nil {
		return address
	}
	label, _, _ := strings.Cut(address, ".")
	return label
}
