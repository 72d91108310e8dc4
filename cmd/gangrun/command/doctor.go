package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/evidence"
	"github.com/gangrun/gangrun/supervisor/platform"
)

// check is one thing that doctor checks.
type check struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, warn, fail
	Detail string `json:"detail"`
}

func doctorCommand(p *program) *cli.Command {
	o := defaultOptions()
	settings := o.runSettings()
	format := "text"
	settings = append(settings, &setting{name: "output", short: "o", hint: "text|json", standard: "text",
		parse: choice(&format, "text", "json"), usage: "form of the report"})
	return &cli.Command{
		Name:  "doctor",
		Usage: "check this container before a job runs in it",
		CustomHelpTemplate: help("doctor", "[flags of run]", "doctor --pod-grace 60s\n         kubectl exec POD -- gangrun doctor",
			"Takes the flags, variables and configuration file of run, and checks them too (gangrun run --help-all lists them), and all\n"+
				"that run --preflight looks at; -o json is for programs. Exits 0 when nothing is wrong, 1 when something is, 64 when the configuration is.\n", nil),
		Before:       withoutSupervising,
		Flags:        flags(settings),
		OnUsageError: func(c *cli.Context, err error, _ bool) error { return usage(c, err) },
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return &configError{fmt.Sprintf("doctor takes flags only: %q is one too many", c.Args().First())}
			}
			o.doctor = true
			if err := o.prepare(settings, os.LookupEnv); err != nil {
				return err
			}
			if err := o.settle(o.platform); err != nil {
				return err
			}
			if err := o.refuseIdle(settings, o.idleAlone(o.platform.Endpoint.Value != "")); err != nil {
				return err
			}
			o.Preflight.On = true
			if err := o.settlePreflight(settings); err != nil {
				return err
			}
			if err := o.checkTimes(); err != nil {
				return err
			}
			checks, err := examine(o)
			if err != nil {
				return err
			}
			for _, w := range o.warnings {
				checks = append(checks, check{"configuration", "warn", w})
			}
			for _, n := range o.noted {
				checks = append(checks, check{"configuration", "warn", "without effect: " + n})
			}
			for _, c := range checks {
				if c.State == "fail" {
					p.code = 1
				}
			}
			if format == "json" {
				enc := json.NewEncoder(stdout)
				enc.SetIndent("", "  ")
				return enc.Encode(checks)
			}
			for _, c := range checks {
				fmt.Fprintf(stdout, "%-5s %-16s %s\n", c.State, c.Name, c.Detail)
			}
			return nil
		},
	}
}

func examine(o *options) ([]check, error) {
	memory := evidence.FindCgroupMemory("/")
	results, err := supervisor.Examine(o.Preflight)
	return append([]check{
		checkPlatform(), checkPID(), checkOutput(), checkTerminationLog(o.TerminationLog), checkMemory(memory), checkOOM(memory),
		checkSharedMemory(), checkTemporary(), checkKernelLog(), checkGrace(o),
	}, checksOf(results)...), err
}

func checkPlatform() check {
	host, _ := os.Hostname()
	p := platform.Detect(os.LookupEnv, host)
	detail := "no known operator started this container: one node"
	if p.Kind != platform.Alone {
		detail = fmt.Sprintf("%s, from %s", p.Kind, p.From)
	}
	if p.Job.Value != "" {
		detail += fmt.Sprintf("; job %s, from %s", p.Job.Value, p.Job.From)
	}
	if p.Node.Value != "" {
		detail += fmt.Sprintf("; node %s, from %s", p.Node.Value, p.Node.From)
	}
	return check{"environment", "ok", detail}
}

func checkPID() check {
	c := check{Name: "process 1", State: "ok", Detail: "gangrun would not be PID 1 here; it becomes the subreaper of what it starts"}
	if os.Getpid() == 1 {
		c.Detail = "gangrun is PID 1"
	} else if os.Getppid() == 0 {
		c.Detail = "started from outside the container (exec); as its ENTRYPOINT gangrun would be PID 1"
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		c.State, c.Detail = "fail", "/proc is not mounted: what a worker leaves behind cannot be found"
	}
	return c
}

// checkOutput warns where the workers' output is not kept: in a container with tty: true, docker run -t.
func checkOutput() check {
	if isTerminal(os.Stdout) || isTerminal(os.Stderr) {
		return check{"output", "warn", "a terminal, which one command is given as it is: what it prints there is not kept, so no rule can read why it failed"}
	}
	return check{"output", "ok", "what the workers print is kept for the verdict, the last 64 KiB of each"}
}

func checkTerminationLog(path string) check {
	c := check{Name: "termination log", State: "ok", Detail: "none: " + kubernetesLog + " does not exist and no other is set"}
	if path == "" {
		return c
	}
	// Opening for writing is the test; nothing is written, and a file that is not there is not made.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	switch {
	case err == nil:
		f.Close()
		c.Detail = path + " can be written"
	case errors.Is(err, fs.ErrNotExist) && unix.Access(filepath.Dir(path), unix.W_OK) == nil:
		c.Detail = path + " does not exist yet and would be made"
	default:
		c.State, c.Detail = "fail", err.Error()
	}
	return c
}

func checkMemory(m evidence.CgroupMemory) check {
	if m.Version == 0 {
		return check{"memory cgroup", "warn", "none that can be read: a kill for memory cannot be told from another SIGKILL"}
	}
	detail := fmt.Sprintf("version %d, no limit", m.Version)
	if limit, ok := m.Limit(); ok {
		detail = fmt.Sprintf("version %d, limit %s", m.Version, size(uint64(limit)))
	}
	return check{"memory cgroup", "ok", detail}
}

func checkOOM(m evidence.CgroupMemory) check {
	n, ok := m.OOMKills()
	switch {
	case !ok:
		return check{"kills for memory", "warn", "the kernel does not count them here"}
	case m.KillsAll():
		return check{"kills for memory", "ok", fmt.Sprintf("%d so far; one kills the whole container, gangrun included (memory.oom.group): the termination message then says so beforehand", n)}
	}
	return check{"kills for memory", "ok", fmt.Sprintf("%d so far", n)}
}

func checkSharedMemory() check {
	s, ok := evidence.SharedMemory()
	switch {
	case !ok:
		return check{"/dev/shm", "warn", "cannot be read"}
	case s.Full():
		return check{"/dev/shm", "fail", fmt.Sprintf("full (%s)", size(s.Size))}
	case s.Size <= 64<<20:
		return check{"/dev/shm", "warn", fmt.Sprintf("%s: the runtime's default, too small for most data loaders; mount an emptyDir with medium Memory", size(s.Size))}
	}
	return check{"/dev/shm", "ok", fmt.Sprintf("%s, %s free", size(s.Size), size(s.Free))}
}

func checkTemporary() check {
	dir := os.TempDir()
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return check{"temporary files", "warn", fmt.Sprintf("%s: %v: workers cannot report their steps, nor leave error files; mount an emptyDir there", dir, err)}
	}
	return check{"temporary files", "ok", dir + " can be written"}
}

func checkKernelLog() check {
	k := evidence.OpenKernelLog()
	defer k.Close()
	if k == nil {
		return check{"kernel log", "ok", "cannot be read, as in most containers: GPU errors (Xid) are known only from the workers' output"}
	}
	return check{"kernel log", "ok", "can be read: GPU errors (Xid) count as evidence"}
}

func checkGrace(o *options) check {
	const kubernetes = 30 * time.Second
	switch {
	case o.podGrace != 0:
		return check{"grace", "ok", fmt.Sprintf("%v of the pod's %v", o.Grace, o.podGrace)}
	case os.Getenv("KUBERNETES_SERVICE_HOST") == "":
		return check{"grace", "ok", fmt.Sprintf("%v from a stop signal to SIGKILL", o.Grace)}
	case o.Grace >= kubernetes:
		return check{"grace", "warn", fmt.Sprintf("%v, but a pod has %v unless its terminationGracePeriodSeconds says otherwise; set it, and --pod-grace to the same", o.Grace, kubernetes)}
	}
	return check{"grace", "ok", fmt.Sprintf("%v; a pod has %v unless its terminationGracePeriodSeconds says otherwise (--pod-grace)", o.Grace, kubernetes)}
}

func size(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + " " + units[i]
}
