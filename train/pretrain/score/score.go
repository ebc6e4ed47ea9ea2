// Package score says what models taught before a run are worth, on episodes that
// they did not learn from, and fills their report cards: numbers beside what costs
// nothing and what is possible, checks that name faults, figures.
package score
