package exitcodes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWhatStandsAround prints every log of the tests as launchers, schedulers, runtimes and pages do, with what stands before, behind and
// around it: none of that is why a program ended, so the verdict has to stay. Where it does not is listed in testdata/around.tsv:
// read every change of it (UPDATE_GOLDEN=1 rewrites it). With -short it is every ninth log.
func TestWhatStandsAround(t *testing.T) {
	const golden = "testdata/around.tsv"
	listed, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	update := os.Getenv("UPDATE_GOLDEN") != ""
	var b strings.Builder
	for n, c := range labelledLogs(t) {
		if testing.Short() && !update && n%9 != 0 {
			continue
		}
		was := c.judge(c.text)
		if !slices.Contains(strings.Split(c.want, "/"), string(was)) {
			continue // which other tests tell
		}
		for _, around := range surroundings {
			text := around.print(c)
			if text == nil {
				continue
			}
			row := fmt.Sprintf("%s\t%s\t%s", c.file, around.name, was)
			flips := class(c.judge(text)) != class(was)
			if flips {
				fmt.Fprintln(&b, row)
			}
			if !update && flips != bytes.Contains(listed, []byte(row+"\n")) {
				t.Errorf("%s: the verdict changes: %v, which is not what %s lists", row, flips, golden)
			}
		}
	}
	if update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// class is what a verdict comes to: whoever was preempted is started again, too.
func class(v Verdict) Verdict {
	if v == Preempted {
		return Retry
	}
	return v
}

type labelled struct {
	file, want string
	code       int
	text       []byte
}

func (c labelled) judge(text []byte) Verdict {
	return Judge(Outcome{Rank: -1, LocalRank: -1, Status: Status{Code: c.code}, Output: text}, BuiltinRules()).Verdict
}

// labelledLogs are those of testdata of which an index says what an engineer decides, that ended with a code below 126.
func labelledLogs(t *testing.T) (logs []labelled) {
	t.Helper()
	indexes, err := filepath.Glob("testdata/*/INDEX.tsv")
	if err != nil || len(indexes) == 0 {
		t.Fatal(indexes, err)
	}
	for _, index := range indexes {
		text, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			row := strings.Split(strings.TrimSpace(line), "\t")
			if len(row) < 3 || strings.HasPrefix(line, "#") || strings.Contains(row[2], "either") {
				continue
			}
			code, err := strconv.Atoi(row[1])
			if err != nil || code < 1 || code >= CodeNotExecutable {
				continue
			}
			file := filepath.Join(filepath.Dir(index), row[0])
			output, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(output) < 20<<10 {
				logs = append(logs, labelled{strings.TrimPrefix(file, "testdata/"), row[2], code, output})
			}
		}
	}
	return logs
}

type surrounding struct {
	name  string
	print func(labelled) []byte // nil where it would not be printed so
}

var surroundings = []surrounding{
	headed("torch's hook", func(int) string { return "[rank0]: " }),
	headed("torchrun --tee", func(int) string { return "[default0]:" }),
	headed("srun --label", func(int) string { return "3: " }),
	headed("mpirun --tag-output", func(int) string { return "[1,0]<stderr>:" }),
	headed("Ray", func(int) string { return "(TrainWorker pid=123, ip=10.2.3.4) " }),
	headed("docker", func(i int) string {
		return fmt.Sprintf("2024-05-01T10:%02d:%02d.%06d000Z ", i/600%60, i/10%60, i%10*100000)
	}),
	headed("a pod", func(int) string { return "trainer-0 | " }),
	headed("an indentation", func(int) string { return "    " }),
	headed("numbers", func(i int) string { return fmt.Sprintf("%d: ", i+101) }),
	{"carriage returns", func(c labelled) []byte { return bytes.ReplaceAll(c.text, []byte("\n"), []byte("\r\n")) }},
	behind("a tracker", "wandb: Waiting for W&B process to finish... (failed 1). Press Control-C to abort syncing.\nwandb: \nwandb: Run history:\nwandb: loss \u2581\u2582\u2583\nwandb: Synced run-7: https://wandb.ai/t/p/runs/1x2y3z\n"),
	behind("torchrun", "W0501 10:11:12.118000 402 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 467 closing signal SIGTERM\n"+
		"E0501 10:11:12.720000 402 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: CODE) local_rank: 0 (pid: 472) of binary: /usr/bin/python\n"+
		"Traceback (most recent call last):\n  File \"/opt/env/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"),
	behind("accelerate", "Traceback (most recent call last):\n  File \"/opt/env/bin/accelerate\", line 8, in <module>\n    sys.exit(main())\n"+
		"  File \"/opt/env/lib/python3.10/site-packages/accelerate/commands/launch.py\", line 763, in simple_launcher\n    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)\n"+
		"subprocess.CalledProcessError: Command '['/usr/bin/python', 'train.py']' returned non-zero exit status CODE.\n"),
	behind("deepspeed", "[2024-05-01 10:11:12,010] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 811\n"+
		"[2024-05-01 10:11:12,700] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', '--local_rank=1'] exits with return code = CODE\n"),
	behind("mpirun", rule+"Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n"+rule+rule+
		"mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n  Process name: [[12345,1],0]\n  Exit code:    CODE\n"+rule),
	behind("Slurm", "srun: error: node1: task 0: Exited with exit code CODE\nsrun: Terminating StepId=11.0\nslurmstepd: error: *** STEP 11.0 ON node1 CANCELLED AT 2024-05-01T10:11:12 ***\n"),
	behind("a script", "+ rc=CODE\n+ echo 'training failed'\ntraining failed\n+ exit CODE\n"),
	behind("a logger", "ERROR:__main__:training failed, exiting\n"),
	behind("a destructor", "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f05a1b2c3d0>\nTraceback (most recent call last):\n"+
		"  File \"/opt/env/lib/python3.10/site-packages/torch/utils/data/dataloader.py\", line 1479, in __del__\n    self._shutdown_workers()\nAttributeError: 'NoneType' object has no attribute 'is_set'\n"),
	behind("multiprocessing", "/usr/lib/python3.8/multiprocessing/resource_tracker.py:216: UserWarning: resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '\n"),
	{"another rank's watchdog", func(c labelled) []byte {
		if !bytes.Contains(c.text, []byte("[rank")) {
			return nil
		}
		return slices.Concat(ended(c.text), []byte("[rank1]:[E501 11:18:52.531176265 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600061 milliseconds before timing out.\n"))
	}},
	{"two ranks", func(c labelled) []byte {
		if bytes.Contains(c.text, []byte("[rank")) || !bytes.HasPrefix(c.text, []byte(traceback)) && !bytes.Contains(c.text, []byte("\n"+traceback)) {
			return nil
		}
		return slices.Concat(each(c.text, func(int) string { return "[rank0]: " }), each(c.text, func(int) string { return "[rank1]: " }))
	}},
}

const rule = "--------------------------------------------------------------------------\n"

// headed puts a head before each line.
func headed(name string, head func(i int) string) surrounding {
	return surrounding{name, func(c labelled) []byte {
		if bytes.Contains(c.text, []byte("[rank")) && strings.HasPrefix(head(0), "[rank") {
			return nil
		}
		return each(c.text, head)
	}}
}

// behind adds an end, in which CODE stands for the exit code.
func behind(name, end string) surrounding {
	return surrounding{name, func(c labelled) []byte {
		return slices.Concat(ended(c.text), []byte(strings.ReplaceAll(end, "CODE", strconv.Itoa(c.code))))
	}}
}

func each(text []byte, head func(i int) string) []byte {
	var b bytes.Buffer
	i := 0
	for line := range bytes.Lines(ended(text)) {
		b.WriteString(head(i))
		b.Write(line)
		i++
	}
	return b.Bytes()
}

func ended(text []byte) []byte { return append(bytes.TrimRight(text, "\n"), '\n') }
