package platform

import (
	"reflect"
	"testing"

	"github.com/gangrun/gangrun/rendezvous"
)

func TestTensorFlowRoles(t *testing.T) {
	alone := rendezvous.RolePolicy{Restart: rendezvous.RestartSelf, Optional: true}
	optional := rendezvous.RolePolicy{Restart: rendezvous.RestartGang, Optional: true}
	for name, tc := range map[string]struct {
		cluster string
		want    map[string]rendezvous.RolePolicy
	}{
		"workers":                     {`"worker":["a","b"]`, nil},
		"chief and workers":           {`"chief":["a"],"worker":["b"]`, nil},
		"a parameter server":          {`"chief":["a"],"worker":["b"],"ps":["c"]`, map[string]rendezvous.RolePolicy{"worker": alone, "ps": optional}},
		"a master":                    {`"master":["a"],"worker":["b"],"ps":["c"]`, map[string]rendezvous.RolePolicy{"worker": alone, "ps": optional}},
		"worker 0 leads":              {`"worker":["b"],"ps":["c"]`, map[string]rendezvous.RolePolicy{"ps": optional}},
		"an evaluator":                {`"chief":["a"],"worker":["b"],"evaluator":["c"]`, map[string]rendezvous.RolePolicy{"evaluator": alone}},
		"roles without any task":      {`"worker":["a"],"ps":[],"evaluator":[]`, nil},
		"sparse, with dynamic worker": {`"worker":{"1":"b"},"ps":["c"]`, map[string]rendezvous.RolePolicy{"ps": optional}},
	} {
		c, err := ParseTFConfig(`{"cluster":{` + tc.cluster + `},"task":{"type":"worker","index":"0"}}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Policies(); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
		if index, ok := c.Index(); index != 0 || !ok {
			t.Errorf("index %d, %v", index, ok)
		}
	}
}

func TestDetectRole(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		host string
		want Value
	}{
		"TensorFlow":         {map[string]string{"TF_CONFIG": `{"task":{"type":"Chief","index":0}}`}, "h", Value{"chief", "TF_CONFIG"}},
		"PyTorchJob, master": {map[string]string{"PET_NNODES": "2", "MASTER_ADDR": "j-master-0"}, "j-master-0", Value{"master", "host name"}},
		"PyTorchJob, worker": {map[string]string{"PET_NNODES": "2", "MASTER_ADDR": "j-master-0"}, "j-worker-12", Value{"worker", "host name"}},
		"a host name alone":  {nil, "j-worker-12", Value{}},
	} {
		p := Detect(func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok }, tc.host)
		if p.Role != tc.want {
			t.Errorf("%s: %+v", name, p.Role)
		}
	}
}

// TestOnlyThoseThatTakePart is TF_CONFIG for a round of fewer nodes than it lists.
func TestOnlyThoseThatTakePart(t *testing.T) {
	const config = `{"cluster":{"chief":["j-chief-0.ns.svc:2222"],"worker":["j-worker-0.ns.svc:2222","j-worker-1.ns.svc:2222",` +
		`"j-worker-2.ns.svc:2222"]},"task":{"type":"worker","index":2},"environment":"cloud"}`
	const sparse = `{"cluster":{"worker":{"1":"j-worker-1.ns.svc:2222"},"ps":["j-ps-0.ns.svc:2222"]},"task":{"type":"worker","index":1}}`
	for name, tc := range map[string]struct {
		config string
		hosts  []string
		want   string // empty for an error
	}{
		"all":              {config, []string{"j-chief-0", "j-worker-0", "j-worker-1", "j-worker-2"}, config},
		"names unlike":     {config, []string{"w", "x", "y", "z"}, config},
		"one is missing":   {config, []string{"j-chief-0", "j-worker-1", "j-worker-2"}, `{"cluster":{"chief":["j-chief-0.ns.svc:2222"],"worker":["j-worker-1.ns.svc:2222","j-worker-2.ns.svc:2222"]},"environment":"cloud","task":{"index":1,"type":"worker"}}`},
		"no chief":         {config, []string{"j-worker-2", "j-worker-0"}, `{"cluster":{"worker":["j-worker-0.ns.svc:2222","j-worker-2.ns.svc:2222"]},"environment":"cloud","task":{"index":1,"type":"worker"}}`},
		"who is not known": {config, []string{"w", "j-worker-2"}, ""},
		"without itself":   {config, []string{"j-chief-0", "j-worker-0"}, ""},
		"sparse":           {sparse, []string{"j-worker-1"}, sparse},
		"nonsense":         {"{", []string{"a"}, "{"},
		"no task":          {`{"cluster":{"worker":["a:1","b:1"]}}`, []string{"a"}, `{"cluster":{"worker":["a:1","b:1"]}}`},
	} {
		got, err := Only(tc.config, tc.hosts)
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func FuzzTFConfig(f *testing.F) {
	f.Add(`{"cluster":{"chief":["a.b:1"],"worker":["c.b:1","d.b:1"]},"task":{"type":"worker","index":1}}`)
	f.Add(`{"Cluster":{"worker":["c.b:1","d.b:1","a:1"]},"Task":{"type":"worker","index":0}}`)
	f.Add(`{"cluster":{"worker":{"1":"c.b:1"}},"task":{"type":"worker","index":"1"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseTFConfig(text)
		if err != nil {
			return
		}
		c.Policies()
		c.topology()
		out, err := Only(text, []string{"a", "c"})
		if err != nil {
			return
		}
		if _, err := ParseTFConfig(out); err != nil {
			t.Errorf("%s becomes %s: %v", text, out, err)
		}
	})
}
