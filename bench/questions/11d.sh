#!/usr/bin/env bash
# Part snowdrift of question 11; see 11.sh.
PART=snowdrift exec bash "$(dirname "$0")/11.sh"
