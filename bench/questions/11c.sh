#!/usr/bin/env bash
# Part 4h2s of question 11; see 11.sh.
PART=4h2s exec bash "$(dirname "$0")/11.sh"
