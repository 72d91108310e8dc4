// Package output carries what the workers print: from the pipe that a worker has as its standard output or error to
// the console (the program's own standard output or error), into a file, and into a short memory of the last lines.
//
// There are four parts. A [Stream] is one pipe with one reading goroutine. A [Console] is one descriptor with one
// writing goroutine, shared by all the streams that end there. A [File] takes the exact bytes of one stream. A [Tail]
// keeps the last 64 KiB of one worker.
//
// # What reaches the console
//
// A stream without a prefix is passed through: its bytes go out unchanged, as soon as they come in.
//
// A stream with a prefix goes out by whole lines, each behind its prefix, so the lines of several workers never mix:
//
//   - A line that has not ended yet waits for its end, however long. It goes out unfinished only when the stream ends,
//     and gets a newline only if something else follows on the same console.
//   - A carriage return ends an update. The update goes out behind the prefix with the carriage return it came with,
//     so a progress bar is still drawn over itself. If another stream's line comes in between, a newline is put before
//     it. A carriage return with nothing before it shows nothing and is left out.
//   - A line of more than 64 KiB goes out in pieces of 64 KiB, each with a prefix and a newline.
//
// On a terminal one more line may stand below everything else ([Console.SetStatus]). It is taken away before anything is
// written, and drawn again when the last line has ended and nothing more is waiting.
//
// # What a slow console does
//
// A console holds back at most 4 MiB. When that is full the streams wait, and with them the workers, as they would on
// a plain pipe. But when the console takes nothing at all for five seconds, whole lines are dropped until half of the
// buffer is free again; then a line of its own tells how much is missing. A console that is gone (EPIPE, EIO) is given
// up. Files and tails miss nothing of this.
//
// # What the caller has to see to
//
// SIGPIPE has to be caught (signal.Notify), or else the runtime ends the process at the first write to a closed
// standard output. If standard output and error are one and the same file (os.SameFile), they should share one
// Console.
package output
