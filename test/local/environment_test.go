package local_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// told runs a gang whose ranks show their environment in two rounds, and returns it by round and rank.
func told(t *testing.T, framework string, ranks int, env ...string) [2][]map[string]string {
	t.Helper()
	// The first round fails when every rank has said what it was told.
	script := fmt.Sprintf(`env; : >$GANGRUN_ROUND.$$; [ $GANGRUN_ROUND = 0 ] || exit 0
		while set -- 0.*; [ $# -lt %d ]; do sleep 0.01; done; exit 200`, ranks)
	flags := []string{"-n", fmt.Sprint(ranks), "--framework", framework, "--log-dir", "logs", "--max-restarts", "1"}
	end := job{flags: flags, env: env, worker: shell(script)}.run(t)
	end.want(t, 0)
	var all [2][]map[string]string
	for round := range all {
		for rank := range ranks {
			found := map[string]string{}
			for _, line := range lines(read(t, fmt.Sprintf("%s/logs/round_%d/%d/stdout.log", end.dir, round, rank))) {
				name, value, _ := strings.Cut(line, "=")
				found[name] = value
			}
			all[round] = append(all[round], found)
		}
	}
	return all
}

// wantTold compares some variables of one rank.
func wantTold(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value, set := got[name]; !set || value != want[name] {
			t.Errorf("%s is %q (set: %t), want %q", name, value, set, want[name])
		}
	}
}

// wantUnset wants none of the variables that begin like this.
func wantUnset(t *testing.T, got map[string]string, prefixes ...string) {
	t.Helper()
	for name := range got {
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				t.Errorf("%s=%s", name, got[name])
			}
		}
	}
}

func TestTorchEnvironment(t *testing.T) {
	t.Parallel()
	all := told(t, "torch", 2)
	for round, ranks := range all {
		for rank, got := range ranks {
			wantTold(t, got, map[string]string{
				"RANK": fmt.Sprint(rank), "LOCAL_RANK": fmt.Sprint(rank), "ROLE_RANK": fmt.Sprint(rank), "GROUP_RANK": "0",
				"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "ROLE_WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "1", "ROLE_NAME": "default",
				"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": ranks[0]["MASTER_PORT"],
				"TORCHELASTIC_RESTART_COUNT": fmt.Sprint(round), "TORCHELASTIC_MAX_RESTARTS": "1", "TORCHELASTIC_USE_AGENT_STORE": "False",
				"TORCHELASTIC_RUN_ID": ranks[0]["TORCHELASTIC_RUN_ID"], "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1", "OMP_NUM_THREADS": "1",
				"PYTHONUNBUFFERED": "1", "GANGRUN_ROUND": fmt.Sprint(round), "GANGRUN_JOB_NAME": "local",
			})
			for _, name := range []string{"TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE", "NOTIFY_SOCKET", "GANGRUN_NODE_NAME"} {
				if got[name] == "" {
					t.Errorf("%s is not set", name)
				}
			}
			wantUnset(t, got, "TF_CONFIG", "SLURM_", "JAX_")
		}
		if ranks[0]["NOTIFY_SOCKET"] == ranks[1]["NOTIFY_SOCKET"] || ranks[0]["TORCHELASTIC_ERROR_FILE"] == ranks[1]["TORCHELASTIC_ERROR_FILE"] {
			t.Error("the ranks share a file")
		}
	}
	if port := all[0][0]["MASTER_PORT"]; port == all[1][0]["MASTER_PORT"] {
		t.Errorf("both rounds have the port %s", port)
	}
}

// TestUsersOwnVariables stay where gangrun only has a default, and never win where they would lead the ranks astray.
// Those that set gangrun's own flags are not for the ranks.
func TestUsersOwnVariables(t *testing.T) {
	t.Parallel()
	own := []string{"OMP_NUM_THREADS=7", "PYTHONUNBUFFERED=", "TORCH_NCCL_ASYNC_ERROR_HANDLING=0", "RANK=9", "MASTER_PORT=1",
		"TORCHELASTIC_RESTART_COUNT=5", "GANGRUN_RESTART_GRACE=2s", "GANGRUN_MINE=kept"}
	for rank, got := range told(t, "torch", 2, own...)[0] {
		wantTold(t, got, map[string]string{"OMP_NUM_THREADS": "7", "PYTHONUNBUFFERED": "", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
			"RANK": fmt.Sprint(rank), "TORCHELASTIC_RESTART_COUNT": "0", "GANGRUN_MINE": "kept"})
		wantUnset(t, got, "GANGRUN_RESTART_GRACE")
		if got["MASTER_PORT"] == "1" {
			t.Error("the user's MASTER_PORT is left")
		}
	}
}

func TestTensorFlowEnvironment(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, ranks := range told(t, "tf", 3) {
		var first []string
		for rank, got := range ranks {
			var config struct {
				Cluster map[string][]string
				Task    struct {
					Type  string
					Index int
				}
			}
			if err := json.Unmarshal([]byte(got["TF_CONFIG"]), &config); err != nil {
				t.Fatalf("%v: %s", err, got["TF_CONFIG"])
			}
			workers := config.Cluster["worker"]
			if len(config.Cluster) != 1 || len(workers) != 3 || config.Task.Type != "worker" || config.Task.Index != rank {
				t.Errorf("rank %d: %s", rank, got["TF_CONFIG"])
			}
			if first == nil {
				first = workers
			}
			if !slices.Equal(workers, first) {
				t.Errorf("rank %d sees %q, rank 0 %q", rank, workers, first)
			}
			wantUnset(t, got, "MASTER_", "SLURM_", "JAX_", "WORLD_SIZE")
		}
		for _, address := range first {
			if host, port, err := net.SplitHostPort(address); err != nil || host != "127.0.0.1" || port == "0" || seen[address] {
				t.Errorf("the address %s, after %v", address, seen)
			}
			seen[address] = true
		}
	}
}

func TestJAXEnvironment(t *testing.T) {
	t.Parallel()
	all := told(t, "jax", 2)
	for _, ranks := range all {
		for rank, got := range ranks {
			address := ranks[0]["JAX_COORDINATOR_ADDRESS"]
			wantTold(t, got, map[string]string{
				"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2",
				"SLURM_PROCID": fmt.Sprint(rank), "SLURM_LOCALID": fmt.Sprint(rank),
				"JAX_COORDINATOR_ADDRESS": address, "JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": fmt.Sprint(rank),
			})
			if !regexp.MustCompile(`^127\.0\.0\.1:\d+$`).MatchString(address) {
				t.Errorf("the address %q", address)
			}
			wantUnset(t, got, "MASTER_", "TF_CONFIG")
		}
	}
	if all[0][0]["JAX_COORDINATOR_ADDRESS"] == all[1][0]["JAX_COORDINATOR_ADDRESS"] {
		t.Error("both rounds have the same port")
	}
}

// TestNoFramework leaves what the user has set as it is.
func TestNoFramework(t *testing.T) {
	t.Parallel()
	for rank, got := range told(t, "none", 2, "MASTER_ADDR=elsewhere", "SLURM_PROCID=5")[0] {
		wantTold(t, got, map[string]string{"RANK": fmt.Sprint(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "elsewhere", "SLURM_PROCID": "5"})
		wantUnset(t, got, "MASTER_PORT", "TF_CONFIG", "JAX_", "LOCAL_RANK", "OMP_NUM_THREADS", "TORCHELASTIC_RE")
	}
}

// TestPortIsFree has rank 0 listen at MASTER_PORT as every server does, and the other rank find it there, in one round
// after the other. In between rank 0 dies with the connection open.
func TestPortIsFree(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "2", "--restart-backoff", "1ms:1ms"}, worker: python(t, "meet.py")}.run(t)
	res.want(t, 0)
	ports := map[string]bool{}
	for round := range 3 {
		met := regexp.MustCompile(fmt.Sprintf(`(?m)^\[0\] round %d: met rank 1 at port (\d+)$`, round)).FindStringSubmatch(res.Stdout)
		if met == nil || ports[met[1]] {
			t.Fatalf("round %d:\n%s\n%s", round, res.Stdout, res.Stderr)
		}
		ports[met[1]] = true
	}
}
