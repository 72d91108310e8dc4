// Package gang makes the workers of a round: the one command of `gangrun run`, the ranks of `gangrun launch` with what
// torchrun would tell them, the ranks of `gangrun local` with what their framework wants to be told. It starts nothing;
// package supervisor does, and asks for the workers again in each round, since ports and directories are new in each.
package gang
