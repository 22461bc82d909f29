// Several monitors that share one error level: which of them may alarm, given the e-value of each.
//
// Arguments are log e-values, one a monitor; a monitor without evidence has 0. Empty in, empty out.
//   Bonferroni    e_i >= K / alpha
//   averaging     closed testing with the arithmetic mean: the smallest mean of any set of monitors that holds
//                 i is at least 1 / alpha. Where the others have e >= 1 this asks no more than Bonferroni and
//                 often much less, and the chance that any monitor whose null is true ever alarms is at most
//                 alpha, however the monitors depend on each other: the mean of e-processes is an e-process.
//   e-BH          the k largest, where k is the largest number with e_(k) >= K / (k alpha). Keeps the expected
//                 share of false alarms among the alarms standing at any one moment at most alpha, for any
//                 dependence; the chance of some false alarm may be larger.
//
// Threads: pure. Cost: K log K, closed averaging K^2.
// Sources: Vovk, Wang, "E-values: calibration, combination and applications" (2021), section 6; Wang, Ramdas,
// "False discovery rate control with e-values" (2022).
#pragma once

#include <span>
#include <vector>

namespace gapwatch::stats {

// log of the e-value that closed averaging leaves each: at most its own.
std::vector<double> closed_average(std::span<const double> log_e);

// log of the largest 1 / alpha at which e-BH still takes each one in; at most its own log e.
std::vector<double> e_benjamini_hochberg(std::span<const double> log_e);

}  // namespace gapwatch::stats
