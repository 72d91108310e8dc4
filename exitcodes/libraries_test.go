package exitcodes

import (
	"strings"
	"testing"
)

// TestLibrariesWords has libraries that are not Python's tell what went wrong in forms of their own.
func TestLibrariesWords(t *testing.T) {
	const (
		frames = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    main()\n"
		hdf    = "HDF5 error back trace\n\n  File \"H5F.c\", line 620, in H5Fopen\n    unable to open file\n  File \"H5FDsec2.c\", line 941, in H5FD_sec2_lock\n    "
		locked = "unable to lock file, errno = 11, error message = 'Resource temporarily unavailable'\n\nEnd of HDF5 error back trace\n"
		absent = "unable to open file: name = 'a.h5', errno = 2, error message = 'No such file or directory'\n\nEnd of HDF5 error back trace\n"
		mpi    = "[n8:81] *** An error occurred in MPI_Allreduce\n[n8:81] *** MPI_ERR_INTERN: internal error\n[n8][[9794,1],1][btl_tcp_frag.c:237:recv] readv failed: Connection reset by peer (104) \n"
		help   = "[n8:85] 1 more process has sent help message help-mpi-errors.txt / mpi_errors_are_fatal\n[n8:85] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help / error messages\n"
		told   = "INFO:tensorflow:Error reported to Coordinator: <class 'tensorflow.python.framework.errors_impl."
		lua    = "stack traceback:\n\t[C]: in function 'error'\n\ttrain.lua:43: in main chunk\n\t[C]: in function 'dofile'\n\t[C]: at 0x00406670\n"
		w      = "W tensorflow/core/framework/op_kernel.cc:975] "
		egl    = "Platform::WindowlessEglApplication::tryCreateContext(): unable to find EGL device for CUDA device 0\nWindowlessContext: Unable to create windowless context\n"
		pipe   = frames + "  File \"/usr/lib/python3.12/multiprocessing/connection.py\", line 383, in _recv\n    raise EOFError\nEOFError\n"
		hooked = "[rank0]: AssertionError: the driver does not support multicast. Launch it with SKIPMC=1 to try IPC instead.\n"
	)
	var steps strings.Builder
	for i := range 9 {
		steps.WriteString("step " + string(rune('1'+i)) + " loss 2.5\n")
	}
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		says    string
	}{
		"a lock of HDF5's":             {"OSError: " + hdf + locked, Retry, "errno = 11"},
		"as an exception":              {frames + "tables.exceptions.HDF5ExtError: " + hdf + locked + "\nUnable to open/create file 'a.h5'\n", Retry, "errno = 11"},
		"a file that is not there":     {frames + "tables.exceptions.HDF5ExtError: " + hdf + absent, Fatal, "errno = 2"},
		"Open MPI's help":              {mpi + help, Retry, "Connection reset by peer"},
		"with a part left out":         {mpi + "...\n" + help, Retry, "Connection reset by peer"},
		"and another's error":          {mpi + help + "train.py: error: no such option: --lr\n", Fatal, "no such option"},
		"a lost peer, passed on":       {steps.String() + strings.Repeat(told+"UnavailableError'>, Stream removed\n", 3) + "Module completed; cleaning up.\n", Retry, "Stream removed"},
		"and got over":                 {told + "UnavailableError'>, Stream removed\n" + steps.String(), Fatal, "exited 1"},
		"a fault, passed on":           {told + "InvalidArgumentError'>, Connection refused by the shape\n", Fatal, "exited 1"},
		"Lua's stack":                  {"/opt/torch/bin/luajit: train.lua:43: attempt to call method 'x' (a nil value)\n" + lua, Fatal, "attempt to call method"},
		"TensorFlow's first":           {strings.Repeat(w+"Not found: Unsuccessful TensorSliceReader constructor: Failed to find any matching files for a.ckpt-7\n", 4), Fatal, "TensorSliceReader"},
		"another warning of its":       {strings.Repeat(w+"The Op A needs a Connection refused\n", 2) + "restoring a.ckpt-7\n", Fatal, "exited 1"},
		"a library that repeats it":    {strings.Repeat("OpenBLAS init: pthread_create failed for thread 5 of 64: Resource temporarily unavailable\nOpenBLAS init: RLIMIT_NPROC 4096 current, 4096 max\n", 6), Retry, "Resource temporarily unavailable"},
		"curl's number, by AWS":        {strings.Repeat("2026-11-26 10:00:00.1: E tensorflow/core/platform/s3/aws_logging.cc:60] Curl returned error code 55\n", 3), Retry, "error code 55"},
		"which is no number of these":  {"Curl returned error code 22\n", Fatal, "error code 22"},
		"LightGBM, without its peer":   {strings.Repeat("[LightGBM] [Warning] Connecting to rank 5 failed, waiting for 1626 milliseconds\n", 3), Retry, "rank 5"},
		"its parameters":               {"[LightGBM] [Fatal] Number of classes should be specified and greater than 1\n", Fatal, "Number of classes"},
		"a file of another process's":  {frames + "Exception: OnDiskCache Exception: a.tar is to be written by another process, but is not ready in 300 seconds.\n", Retry, "not ready"},
		"a download, in lines":         {"RuntimeError: Failed to download s3://a/b -> /tmp/b. Got errors:\n[ClientError('Object s3://a/b not found! Check the path.')]\n", Fatal, "not found"},
		"one that may come":            {"RuntimeError: Failed to download s3://a/b -> /tmp/b. Got errors:\n[ClientError('the read broke off')]\n", Retry, "Failed to download"},
		"what a child had said":        {egl + pipe, Fatal, "EGL device"},
		"a child that says nothing":    {pipe, Retry, "EOFError"},
		"what was said long before":    {egl + "simulator 2 of 4 has begun\nall scenes are loaded\nroom 7\n" + pipe, Retry, "EOFError"},
		"tries that go on":             {strings.Repeat("time-out of 300000ms while waiting for the simulator at localhost:3000\n>> manager init fail, try_time=37\n", 8), Retry, "time-out of"},
		"steps that go on":             {"time-out of 300000ms while waiting for the simulator at localhost:3000\n" + steps.String(), Fatal, "exited 1"},
		"a queue without its master":   {"queue.pl: Error submitting jobs to queue (return status was 256)\nOutput of qsub was: error: commlib error: got select error (Connection refused)\nUnable to run job: unable to send message to qmaster using port 6444 on host \"n1\": got send error\nExiting.\nqueue.pl: It looks like the queue master may be inaccessible.  Trying again after 20 seconts\nqueue.pl: Error submitting jobs to queue (return status was 256)\n", Retry, "qmaster"},
		"a queue that is not there":    {"Unable to run job: Job was rejected because job requests unknown queue \"gpu\".\nExiting.\nqueue.pl: Error submitting jobs to queue (return status was 256)\n", Fatal, "exited 1"},
		"a prompt after Ctrl-C":        {frames + "torch.distributed.elastic.multiprocessing.api.SignalException: Process 24 got signal: 2\n" + strings.Repeat("(env) me@n1:/data$ ^C\n", 9), Preempted, "got signal: 2"},
		"a setting of a heartbeat":     {"ConfigurationError: heartbeat_interval has to be below heartbeat_timeout\n", Fatal, "heartbeat_interval"},
		"a heartbeat that is missed":   {"the coordinator reports an error: missed heartbeat of task 3\n", Retry, "missed heartbeat"},
		"a launcher of Paddle's":       {"LAUNCH INFO 2026-11-26 10:00:00,000 Pod failed\nLAUNCH ERROR 2026-11-26 10:00:00,000 Container failed !!!\nContainer rank 0 status failed cmd ['python', '-u', 'train.py'] code 1 log log/workerlog.0\n", Fatal, ""},
		"an agent that stops":          {"wandb: Detected 3 failed runs in the first 60 seconds, shutting down.\n", Fatal, ""},
		"a layer of Keras's":           {frames + "InternalError: Exception encountered when calling layer \"dense\" (type Dense).\n\nFailed copying input tensor from CPU:0 to GPU:0 in order to run MatMul: Dst tensor is not initialized. [Op:MatMul]\n", Fatal, "Dst tensor"},
		"advice of what to do instead": {hooked, Fatal, "multicast"},
	} {
		if f := judged("reading the configuration\n" + tt.output); f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestGlogsHeads has records in the heads of glog and of those who write like it.
func TestGlogsHeads(t *testing.T) {
	for _, head := range []string{"F1126 10:00:00.123456    77 a.cc:1] ", "F20261126 10:00:00.123456    77 a.cc:1] ", "F 11-26 10:00:00 a.py:1] "} {
		lines := readLines([]byte(head+"no room\n"), newMeter(100))
		if l := lines[0]; string(l.text) != "no room" || l.level != levelError || !l.fatal {
			t.Errorf("%q: %q, level %d, fatal %t", head, l.text, l.level, l.fatal)
		}
	}
	pod := "2026-11-26 10:00:00 10.164.0.13 [3] "
	for text, want := range map[string]string{pod + "E1126 10:00:00.279713   422 a.cc:250] no room": "no room", pod + "    main()": "    main()", "2026-11-26 10:00:00 step 3 [7] of 9": "step 3 [7] of 9"} {
		if l := readLines([]byte(text+"\n"), newMeter(100))[0]; string(l.text) != want {
			t.Errorf("%q became %q", text, l.text)
		}
	}
	for _, text := range []string{"F2026112610:00:00 a] b", "F 11-26 is the date of [it] all", "I 12 10 21 a.py:118] is it"} {
		if l := readLines([]byte(text+"\n"), newMeter(100))[0]; string(l.text) != text {
			t.Errorf("%q became %q", text, l.text)
		}
	}
}
