package main

import "testing"

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		values []float64
		part   float64
		want   float64
	}{
		{nil, 0.5, 0},
		{[]float64{7}, 0.9, 7},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{10, 0, 5}, 0.9, 9},
	} {
		if got := quantile(test.values, test.part); got != test.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", test.values, test.part, got, test.want)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, test := range []struct {
		budget budget
		value  float64
		more   bool
		want   string
	}{
		{noBudget, 5, false, ""},
		{8, 8, false, "<= 8.00 kept"},
		{8, 8.1, false, "<= 8.00 MISSED"},
		{500, 500, true, ">= 500 kept"},
		{500, 499, true, ">= 500 MISSED"},
	} {
		if got := test.budget.say(test.value, test.more); got != test.want {
			t.Errorf("%v says %q of %v, want %q", test.budget, got, test.value, test.want)
		}
	}
}

func TestOverIsPairedByRound(t *testing.T) {
	base, r := &row{values: []float64{1, 100}}, &row{values: []float64{2, 102, 7}}
	if got := r.over(base); len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("got %v, want [1 2]", got)
	}
}

func TestRatio(t *testing.T) {
	for _, test := range []struct {
		v, peer float64
		want    string
	}{
		{3, 2, "1.50"}, {1, 10, "0.10"}, {1, 200, "1/200"}, {1, 0, "-"},
	} {
		if got := ratio(test.v, test.peer); got != test.want {
			t.Errorf("%v to %v: %q, want %q", test.v, test.peer, got, test.want)
		}
	}
}
