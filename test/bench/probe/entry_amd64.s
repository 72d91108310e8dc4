#include "textflag.h"

#define write 1
#define open 2
#define pause 34
#define getpid 39
#define fork 57
#define wait4 61
#define read 0
#define clock_gettime 228
#define exit_group 231

#define SYSTEM(number) \
	MOVQ $number, AX \
	SYSCALL

// The record is below the stack, where nobody else writes: there are no signal handlers and no calls.
#define RECORD BX

// Where it is said.
#define TO R14

#define TELL \
	SYSTEM(getpid) \
	MOVQ AX, 16(RECORD) \
	MOVQ TO, DI \
	MOVQ RECORD, SI \
	MOVQ $24, DX \
	SYSTEM(write)

TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	MOVQ SP, RECORD
	SUBQ $64, RECORD
	MOVQ $1, DI
	MOVQ RECORD, SI
	SYSTEM(clock_gettime)

	POPQ R12 // the number of arguments, with the program's name
	MOVQ $1, TO
	CMPQ R12, $3
	JEQ orphans
	JLT tell
	MOVQ 24(SP), DI // the third argument
	MOVQ $1, SI     // O_WRONLY
	SYSTEM(open)
	CMPQ AX, $0
	JLT failed
	MOVQ AX, TO

tell:
	TELL
	CMPQ R12, $1
	JEQ end
	CMPQ R12, $5
	JEQ end

hold:
	SYSTEM(pause)
	JMP hold

orphans:
	MOVQ $100, R13

next:
	SYSTEM(fork)
	CMPQ AX, $0
	JLT failed
	JEQ parent
	MOVQ AX, DI
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	SYSTEM(wait4)
	DECQ R13
	JNE next
	JMP end

parent: // of the orphan
	SYSTEM(fork)
	CMPQ AX, $0
	JLT failed
	JNE end
	TELL
	XORL DI, DI
	MOVQ RECORD, SI
	MOVQ $1, DX
	SYSTEM(read)

end:
	XORL DI, DI
	SYSTEM(exit_group)

failed:
	MOVQ $1, DI
	SYSTEM(exit_group)
