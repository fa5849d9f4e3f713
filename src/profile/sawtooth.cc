#include "profile/sawtooth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/median.h"
#include "profile/statistics.h"

namespace sluice {
namespace {

constexpr std::size_t most_terms = 4;  // base, slope, ends inside of a page, blocks that are covered in part
constexpr std::size_t plain_terms = 2;
constexpr std::size_t page_terms = 3;
using Row = std::array<double, most_terms>;

struct Fit {
  Row factors = {};
  double error = 0;  // sum of the squared relative deviations, each one bounded
  double middle = 0;
};

double ends_in_page(std::uint64_t end) {
  return end % memory_page == 0 ? 0.0 : 1.0;
}

// Blocks that a write covers in part: none, one or two.
double parts(std::uint64_t offset, std::uint64_t size, std::uint64_t block) {
  const std::uint64_t end = offset + size;
  const bool begins = offset % block != 0;
  const bool ends = end % block != 0;
  const bool same = offset / block == (end - 1) / block;
  return same ? (begins || ends ? 1 : 0) : (begins ? 1 : 0) + (ends ? 1 : 0);
}

Row terms_of(const Tooth& write, std::uint64_t block) {
  return {1, static_cast<double>(write.size), ends_in_page(write.offset + write.size),
          parts(write.offset, write.size, block)};
}

double dot(const Row& a, const Row& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Normal equations by Gauss and Jordan; a term that says nothing new gets the factor zero.
Row solve(std::array<Row, most_terms> matrix, Row right) {
  Row out = {};
  std::array<bool, most_terms> used = {};
  for (std::size_t step = 0; step < most_terms; ++step) {
    std::size_t pivot = most_terms;
    for (std::size_t i = 0; i < most_terms; ++i) {
      if (!used[i] && (pivot == most_terms || matrix[i][i] > matrix[pivot][pivot])) {
        pivot = i;
      }
    }
    if (!(matrix[pivot][pivot] > 1e-9)) {
      break;
    }
    used[pivot] = true;
    for (std::size_t i = 0; i < most_terms; ++i) {
      if (i == pivot) {
        continue;
      }
      const double factor = matrix[i][pivot] / matrix[pivot][pivot];
      for (std::size_t j = 0; j < most_terms; ++j) {
        matrix[i][j] -= factor * matrix[pivot][j];
      }
      right[i] -= factor * right[pivot];
    }
  }
  for (std::size_t i = 0; i < most_terms; ++i) {
    out[i] = used[i] ? right[i] / matrix[i][i] : 0;
  }
  return out;
}

// Least squares of relative deviations; hiccups of the machine count in proportion only (Huber). `terms` = 2
// leaves the block out.
Fit fit_block(std::span<const Tooth> writes, std::uint64_t block, std::size_t terms, double scale) {
  std::vector<Row> rows;
  for (const Tooth& write : writes) {
    Row row = terms_of(write, block);
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(terms), row.end(), 0.0);
    row[1] /= scale;
    for (double& term : row) {
      term /= write.seconds;
    }
    rows.push_back(row);
  }
  std::vector<double> weights(rows.size(), 1.0);
  Fit out;
  std::vector<double> deviations(rows.size());
  for (int round = 0; round < 4; ++round) {
    std::array<Row, most_terms> matrix = {};
    Row right = {};
    for (std::size_t k = 0; k < rows.size(); ++k) {
      for (std::size_t i = 0; i < most_terms; ++i) {
        for (std::size_t j = 0; j < most_terms; ++j) {
          matrix[i][j] += weights[k] * rows[k][i] * rows[k][j];
        }
        right[i] += weights[k] * rows[k][i];
      }
    }
    double largest = 0;
    for (std::size_t i = 0; i < most_terms; ++i) {
      largest = std::max(largest, matrix[i][i]);
    }
    for (std::size_t i = 0; i < most_terms; ++i) {
      right[i] /= largest;
      for (std::size_t j = 0; j < most_terms; ++j) {
        matrix[i][j] /= largest;
      }
    }
    out.factors = solve(matrix, right);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      deviations[k] = std::abs(dot(rows[k], out.factors) - 1);
    }
    out.middle = median(deviations);
    const double limit = std::max(3 * out.middle, 1e-6);
    out.error = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      weights[k] = std::min(1.0, limit / std::max(deviations[k], 1e-12));
      const double bounded = std::min(deviations[k], limit);
      out.error += bounded * bounded;
    }
  }
  out.factors[1] /= scale;
  return out;
}

}  // namespace

double Sawtooth::extra(std::uint64_t size) const {
  const std::uint64_t period = std::lcm(block, memory_page);
  const std::uint64_t requests = std::min<std::uint64_t>(period / std::gcd(size, period), 4096);
  double covered = 0;
  double ended = 0;
  for (std::uint64_t i = 0; i < requests; ++i) {
    covered += parts(i * size, size, block);
    ended += ends_in_page((i + 1) * size);
  }
  return (tooth * covered + page_tooth * ended) / static_cast<double>(requests);
}

double Sawtooth::at(std::uint64_t size) const {
  return base + slope * static_cast<double>(size) + extra(size);
}

std::optional<Sawtooth> find_sawtooth(std::span<const Tooth> writes, std::uint64_t grain,
                                      std::uint64_t largest, std::uint64_t likely) {
  constexpr std::size_t least = 24;
  if (writes.size() < least) {
    return {};
  }
  double scale = 0;
  for (const Tooth& write : writes) {
    scale = std::max(scale, static_cast<double>(write.size));
  }
  const Fit plain = fit_block(writes, grain, plain_terms, scale);
  const Fit page = fit_block(writes, grain, page_terms, scale);
  // Many candidates, one more number: some would look better by chance (Bayesian information).
  const auto count = static_cast<double>(writes.size());
  const auto gain = [&](const Fit& from, const Fit& to) {
    return count * std::log(std::max(from.error, 1e-30) / std::max(to.error, 1e-30));
  };
  constexpr double clear = 10;
  double mean = 0;
  for (const Tooth& write : writes) {
    mean += write.seconds / count;
  }
  const auto matters = [&](double tooth) { return tooth >= 0.03 * mean; };
  Fit best;
  std::uint64_t block = 0;
  // Nothing smaller than the file system's own block can be it.
  const std::uint64_t least_block = std::max(2 * grain, (likely + grain - 1) / grain * grain);
  for (std::uint64_t candidate = least_block; candidate <= largest; candidate += grain) {
    if (candidate == memory_page) {
      continue;
    }
    const Fit fit = fit_block(writes, candidate, most_terms, scale);
    if (fit.factors[3] > 0 && (block == 0 || fit.error < best.error)) {
      best = fit;
      block = candidate;
    }
  }
  if (block != 0 && likely > memory_page && likely % grain == 0 && likely <= largest) {
    const Fit fit = fit_block(writes, likely, most_terms, scale);
    if (fit.factors[3] > 0 && gain(fit, best) < clear) {
      best = fit;
      block = likely;
    }
  }
  const std::uint64_t sizes = largest / grain;
  const auto candidates = static_cast<double>(sizes);
  const auto out = [&](const Fit& fit, std::uint64_t found) {
    return Sawtooth{.block = found,
                    .base = fit.factors[0],
                    .slope = fit.factors[1],
                    .tooth = std::max(0.0, fit.factors[3]),
                    .page_tooth = std::max(0.0, fit.factors[2]),
                    .error = fit.middle};
  };
  if (block != 0 && matters(best.factors[3]) &&
      gain(page, best) >= std::log(count) + 2 * std::log(candidates) + clear) {
    return out(best, block);
  }
  if (least_block <= memory_page && matters(page.factors[2]) &&
      gain(plain, page) >= std::log(count) + clear) {
    return out(page, memory_page);
  }
  return {};
}

}  // namespace sluice
