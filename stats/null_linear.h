// Cholesky factors of small, possibly singular covariance matrices.
//
// A pivot below 1e-10 of the largest diagonal is a direction without variance: it is left out, and the
// solution has a zero there. (Counts of all policies sum to a constant, so one direction always is.)
//
// Threads: const access is safe to share. Cost: size^3 / 6. Source: sequential.md F.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace gapwatch::stats {

class Cholesky {
 public:
  // `matrix` is size x size, symmetric, row by row.
  Cholesky(std::span<const double> matrix, std::size_t size) : size_(size), root_(size * size, 0.0) {
    double largest = 0;
    for (std::size_t k = 0; k < size; ++k) largest = std::max(largest, matrix[k * size + k]);
    for (std::size_t k = 0; k < size; ++k) {
      double pivot = matrix[k * size + k];
      for (std::size_t j = 0; j < k; ++j) pivot -= at(k, j) * at(k, j);
      if (!(pivot > 1e-10 * largest)) continue;
      at(k, k) = std::sqrt(pivot);
      for (std::size_t i = k + 1; i < size; ++i) {
        double sum = matrix[i * size + k];
        for (std::size_t j = 0; j < k; ++j) sum -= at(i, j) * at(k, j);
        at(i, k) = sum / at(k, k);
      }
    }
  }

  // A solution of matrix * x = right.
  std::vector<double> solve(std::span<const double> right) const {
    std::vector<double> x(right.begin(), right.end());
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < i; ++j) x[i] -= get(i, j) * x[j];
      x[i] = get(i, i) > 0 ? x[i] / get(i, i) : 0;
    }
    for (std::size_t i = size_; i-- > 0;) {
      for (std::size_t j = i + 1; j < size_; ++j) x[i] -= get(j, i) * x[j];
      x[i] = get(i, i) > 0 ? x[i] / get(i, i) : 0;
    }
    return x;
  }

  // out = root * normals: a draw of the law where `normals` are standard normal.
  void multiply(std::span<const double> normals, std::span<double> out) const {
    for (std::size_t i = 0; i < size_; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j <= i; ++j) sum += get(i, j) * normals[j];
      out[i] = sum;
    }
  }

 private:
  double& at(std::size_t i, std::size_t j) { return root_[i * size_ + j]; }
  double get(std::size_t i, std::size_t j) const { return root_[i * size_ + j]; }
  std::size_t size_;
  std::vector<double> root_;  // lower triangle
};

}  // namespace gapwatch::stats
