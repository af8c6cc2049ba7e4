#!/bin/bash
# Runs the command of one line that it reads, and tells its status in the last line.
read -r line
status=0
bash -c "$line" 2>&1 </dev/null || status=$?
printf '\n%s\n' "$status"
