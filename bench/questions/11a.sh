#!/usr/bin/env bash
# Part 4h1s of question 11; see 11.sh.
PART=4h1s exec bash "$(dirname "$0")/11.sh"
