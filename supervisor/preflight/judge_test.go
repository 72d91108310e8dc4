package preflight

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gangrun/gangrun/exitcodes"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

type judged struct {
	got  Result
	want State
	says string
}

func check(t *testing.T, tests map[string]judged) {
	t.Helper()
	for name, tt := range tests {
		if tt.got.State != tt.want || !strings.Contains(tt.got.Detail, tt.says) {
			t.Errorf("%s: %+v, want %s, %q", name, tt.got, tt.want, tt.says)
		}
		if strings.ContainsFunc(tt.got.String(), unicode.IsControl) {
			t.Errorf("%s: not one plain line: %q", name, tt.got)
		}
		if tt.got.State == Sick && tt.got.Do == "" {
			t.Errorf("%s: it does not say what to do", name)
		}
	}
}

func TestJudgeXids(t *testing.T) {
	at := func(number int, ago time.Duration) exitcodes.Xid {
		return exitcodes.Xid{Number: number, PCI: "0000:3b:00", At: noon.Add(-ago)}
	}
	judge := func(xids ...exitcodes.Xid) Result { return JudgeXids(xids, true, noon) }
	const m = time.Minute
	check(t, map[string]judged{
		"not readable":          {JudgeXids(nil, false, noon), OK, "cannot be read"},
		"none":                  {judge(), OK, "none"},
		"a moment ago":          {judge(at(79, m)), Sick, "Xid 79 on GPU 0000:3b:00, one of 1 errors in a row, the last 1m0s ago"},
		"in a burst that lasts": {judge(at(79, 5*m), at(45, 4*m), at(45, 2*m)), Sick, "Xid 79 on GPU 0000:3b:00, one of 3"},
		"the burst is over":     {judge(at(79, 10*m), at(45, 9*m)), Note, "is over for 9m0s; 1 such times"},
		"two bursts":            {judge(at(79, 60*m), at(31, 10*m), at(31, 9*m)), Note, "Xid 31 on GPU 0000:3b:00, one of 2"},
		"a program's fault":     {judge(at(31, m)), Note, "Xid 31"},
		"the worst of a burst":  {judge(at(45, 2*m), at(119, m)), Sick, "Xid 119"},
	})
}

func TestJudgeLinks(t *testing.T) {
	lo := Link{Name: "lo", Enabled: true, Carrier: true}
	up := func(name string) Link { return Link{Name: name, Enabled: true, Carrier: true, Real: true} }
	down := func(name string) Link { return Link{Name: name, Enabled: true, Real: true} }
	off := func(name string) Link { return Link{Name: name, Real: true} }
	check(t, map[string]judged{
		"not readable":           {JudgeLinks(nil, nil, "", true), Note, "cannot be read"},
		"up":                     {JudgeLinks([]Link{lo, up("eth0"), off("eth1")}, nil, "", true), OK, "up: eth0"},
		"none, alone":            {JudgeLinks([]Link{lo}, nil, "", false), OK, "none"},
		"none, and other nodes":  {JudgeLinks([]Link{lo, down("eth0")}, nil, "", true), Sick, "none is up"},
		"one without a link":     {JudgeLinks([]Link{lo, up("eth0"), down("ib0")}, nil, "", true), Note, "ib0 is switched on, and has no link"},
		"the one that is named":  {JudgeLinks([]Link{lo, up("eth0"), down("ib0")}, nil, "ib", true), Sick, "ib0 is down, which NCCL_SOCKET_IFNAME=ib names"},
		"one of those named":     {JudgeLinks([]Link{up("ib1"), off("ib0")}, nil, "ib", true), OK, "up: ib1"},
		"the whole name":         {JudgeLinks([]Link{up("eth01"), down("eth0")}, nil, "=eth0", true), Sick, "eth0 is down"},
		"those not to be used":   {JudgeLinks([]Link{up("eth0"), off("docker0")}, nil, "^docker", true), OK, "up: eth0"},
		"a name that is none":    {JudgeLinks([]Link{up("eth0")}, nil, "bond0", true), Note, "names none that there is"},
		"down since":             {JudgeLinks([]Link{up("eth0"), down("eth1")}, []Link{up("eth0"), up("eth1")}, "", true), Sick, "eth1 was up at the start"},
		"gone since":             {JudgeLinks([]Link{up("eth0")}, []Link{up("eth0"), up("eth1")}, "", true), Sick, "eth1 was up at the start"},
		"a virtual one gone":     {JudgeLinks([]Link{up("eth0")}, []Link{up("eth0"), {Name: "veth7", Enabled: true, Carrier: true}}, "", true), OK, "up: eth0"},
		"virtual, in containers": {JudgeLinks([]Link{lo, {Name: "eth0", Enabled: true, Carrier: true}}, nil, "", true), OK, "up: eth0"},
	})
}

func TestJudgeDirectory(t *testing.T) {
	judge := func(text string) Result { return JudgeDirectory("disk", "/ckpt", exits(0, text)) }
	check(t, map[string]judged{
		"fine":                   {judge(`{"made":true,"local":true,"size":1000000,"free":500000,"latency":2000000}`), OK, "/ckpt took 2ms for a small file; 488.3 KiB free of 976.6 KiB"},
		"not there yet":          {judge(`{"made":false}`), OK, "is not there yet"},
		"slow":                   {judge(`{"made":true,"size":100,"free":50,"latency":3000000000}`), Note, "took 3s"},
		"nearly full":            {judge(`{"made":true,"size":1000,"free":5}`), Note, "nearly full"},
		"full":                   {judge(`{"made":true,"local":true,"error":"no space left on device","failure":"full"}`), Sick, "is full"},
		"full for all":           {judge(`{"made":true,"error":"no space left on device","failure":"full"}`), Note, "is full"},
		"errors":                 {judge(`{"made":true,"error":"stale file handle","failure":"broken"}`), Sick, "stale file handle"},
		"errors on the way":      {judge(`{"made":false,"error":"input/output error","failure":"broken"}`), Sick, "input/output error"},
		"read-only":              {judge(`{"made":true,"error":"read-only file system","failure":"denied"}`), Note, "read-only"},
		"stuck":                  {JudgeDirectory("disk", "/ckpt", Output{Late: 30 * time.Second}), Sick, "/ckpt did not take a small file within 30s"},
		"garbage":                {judge("{"), Note, "not checked"},
		"it crashed":             {JudgeDirectory("disk", "/ckpt", Output{Status: exitcodes.Status{Signal: 9}}), Note, "was killed by SIGKILL"},
		"no process to be had":   {JudgeDirectory("disk", "/ckpt", Output{Err: errors.New("fork: out of memory")}), Note, "out of memory"},
		"text that does not fit": {judge(`{"made":true,"error":"` + strings.Repeat("x", 1000) + `","failure":"denied"}`), Note, "xxx..."},
	})
}

func TestJudgeMachine(t *testing.T) {
	const gib = 1 << 30
	check(t, map[string]judged{
		"shared memory":          {JudgeSharedMemory(8*gib, 4*gib, true), OK, "4 GiB free of 8 GiB"},
		"shared memory full":     {JudgeSharedMemory(8*gib, 1000, true), Sick, "full (8 GiB)"},
		"no shared memory":       {JudgeSharedMemory(0, 0, false), Note, "cannot be checked"},
		"no store":               {JudgeStore(nil), OK, "one node"},
		"the store":              {JudgeStore([]Reached{{Address: "etcd:2379", Took: time.Millisecond}}), OK, "etcd:2379 answers within 1ms"},
		"nobody listens yet":     {JudgeStore([]Reached{{Address: "n0:29400", Refused: true}}), Note, "nobody listens yet"},
		"no such name":           {JudgeStore([]Reached{{Address: "n0:29400", Unknown: "no such host"}}), Note, "the name of n0:29400 is not known: no such host"},
		"one of three":           {JudgeStore([]Reached{{Address: "a"}, {Address: "b", Error: "i/o timeout"}}), Note, "b does not answer: i/o timeout"},
		"the clock":              {JudgeClock(noon), OK, "2026-01-01 12:00:00 UTC"},
		"the clock's beginning":  {JudgeClock(time.Unix(0, 0)), Note, "1970"},
		"limits":                 {JudgeLimits(Limits{Files: 1 << 20}, true), OK, "1048576 open files"},
		"few files":              {JudgeLimits(Limits{Files: 1024}, true), Note, "1024 open files"},
		"locked memory":          {JudgeLimits(Limits{Files: 1 << 20, Locked: 64 << 10, RDMA: true}, true), Note, "64 KiB of locked memory"},
		"locked, no RDMA":        {JudgeLimits(Limits{Files: 1 << 20, Locked: 64 << 10}, true), OK, "open files"},
		"locked, no limit":       {JudgeLimits(Limits{Files: 1 << 20, Unlimited: true, RDMA: true}, true), OK, "open files"},
		"limits not known":       {JudgeLimits(Limits{}, false), Note, "cannot be checked"},
		"a command":              {JudgeCommand("check", exits(0, "all is well\n")), OK, "check: all is well"},
		"a silent command":       {JudgeCommand("check", exits(0, "")), OK, "check"},
		"a command says no":      {JudgeCommand("check", exits(3, "looking\n\nfan 3 stands still\n")), Sick, "check exits with 3: fan 3 stands still"},
		"a command that crashes": {JudgeCommand("check", Output{Status: exitcodes.Status{Signal: 6}}), Sick, "check was killed by SIGABRT"},
		"a command that hangs":   {JudgeCommand("check", Output{Late: time.Second, Text: []byte("asking\n")}), Sick, "check had not ended after 1s: asking"},
		"a command that is gone": {JudgeCommand("check", Output{Absent: true}), Note, "not there any more"},
		"a broken command":       {JudgeCommand("check", Output{Err: errors.New("permission denied")}), Note, "permission denied"},
		"a command's colours":    {JudgeCommand("check", exits(1, "\x1b[31mbroken\x1b[0m\n")), Sick, "[31mbroken"},
	})
}

func TestResultSaysWhatToDo(t *testing.T) {
	if text := sick("y", "mend it", "it is broken").String(); text != "y: it is broken; mend it" {
		t.Error(text)
	}
}
