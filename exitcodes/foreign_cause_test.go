package exitcodes

import (
	"strings"
	"testing"
)

// TestForeignCause has programs of other languages end of what another thread or process of theirs had said before.
func TestForeignCause(t *testing.T) {
	const (
		unwrapped = "thread 'main' panicked at src/main.rs:141:30:\ncalled `Result::unwrap()` on an `Err` value: Any { .. }\n" +
			"stack backtrace:\n   0: rust_begin_unwind\n   1: core::panicking::panic_fmt\nnote: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n"
		worker = "thread 'worker-17' panicked at src/worker.rs:88:14:\n"
		note   = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
		lost   = "Exception in thread \"main\" org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times, most recent failure: " +
			"Lost task 0.3 in stage 2.0 (TID 5) (10.0.0.8 executor 4): ExecutorLostFailure (executor 4 exited caused by one of the running tasks) Reason: \n"
		own    = "The executor with id 4 exited with exit code 50(Uncaught exception).\n"
		driver = "Driver stacktrace:\n\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2719)\n"
	)
	for name, tt := range map[string]struct {
		code    int
		output  string
		verdict Verdict
		says    string
	}{
		"rust: a thread's panic":             {101, worker + "fetch shard: ConnectError(\"dns error\", Custom { error: \"failed to lookup address information: Temporary failure in name resolution\" })\n" + note + unwrapped, Retry, "failed to lookup address"},
		"rust: a thread's bug":               {101, worker + "index out of bounds: the len is 3 but the index is 7\n" + note + unwrapped, Fatal, "index out of bounds"},
		"spark: a library that is old":       {1, "24/12/02 10:50:41 ERROR Executor: Exception in task 0.0 in stage 2.0 (TID 2)\njava.lang.NoSuchMethodError: 'void com.google.common.base.Preconditions.checkArgument(boolean)'\n\tat a.b(C.java:7)\n" + lost + own + driver, Fatal, "NoSuchMethodError"},
		"spark: a class that is missing":     {1, "24/12/02 10:50:41 ERROR Executor: Exception in task 0.0 in stage 2.0 (TID 2)\njava.lang.NoClassDefFoundError: org/acme/Codec\n\tat a.b(C.java:7)\n" + lost + own + driver, Fatal, "NoClassDefFoundError"},
		"spark: an executor alone":           {1, lost + own + driver, Retry, "ExecutorLostFailure"},
		"spark: an executor that was killed": {1, "24/12/02 10:50:41 ERROR Metrics: no sink\njava.lang.ClassNotFoundException: org.acme.Sink\n\tat a.b(C.java:7)\n" + lost + "The executor with id 4 exited with exit code 137(SIGKILL, possible container OOM).\n" + driver, Retry, "SIGKILL"},
	} {
		if f := Judge(exited(tt.code).printing("Model has 124000000 parameters\n"+tt.output), BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
