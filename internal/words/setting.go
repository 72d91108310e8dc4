package words

// Setting, as an attribute of a line of the log, has decided what the line tells. How a person changes it is for the program
// to add, which has the flags.
type Setting string

// The settings that lines of the log are about.
const (
	SettingHang         Setting = "hang"              // what is done to workers that hang
	SettingRestartGrace Setting = "restart-grace"     // how long a stop before a restart may take
	SettingUnknown      Setting = "unknown"           // what a failure means that nothing explains
	SettingQuarantine   Setting = "quarantine"        // whether checkpoints that must not be read are moved aside
	SettingLogDir       Setting = "log-dir"           // where the workers' output is kept
	SettingTrainJob     Setting = "trainjob-progress" // whether the TrainJob's status is kept
)
