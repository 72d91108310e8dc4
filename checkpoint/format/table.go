package format

// kinds are all formats, in the order in which they are looked for: a container before what it may contain, and of two
// that share a name the one that can be told for sure.
var kinds = []kind{
	megatron,
	verl,
	deepSpeed,
	hfTrainer,
	accelerate,
	torchtitan,
	nvrxLocal,
	orbax,
	tfBundle,
	savedModel,
	kerasBackup,
	nemo,
	lightning,
	composer,
	torchSnapshot,
	dlrover,
	dcp,
	arrays,
	booster,
	plain,
	custom,
}
