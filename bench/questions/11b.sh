#!/usr/bin/env bash
# Part few of question 11; see 11.sh.
PART=few exec bash "$(dirname "$0")/11.sh"
