# Saves a checkpoint in the first round, and takes it away in the second: $1 is the directory.
case $GANGRUN_ROUND in
0) mkdir "$1/step-5" && echo state >"$1/step-5/state" && : >"$1/step-5/DONE" ;;
*) rm -r "$1/step-5" ;;
esac
kill -9 $$
