#include "tune/gain.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice {
namespace {

// The chance of a value between -t and t, where t = tan(angle) * sqrt(degrees): the finite sums that there
// are for whole numbers of degrees.
double within(double angle, std::size_t degrees) {
  const double cosine = std::cos(angle);
  const bool odd = degrees % 2 != 0;
  double term = odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (std::size_t i = odd ? 3 : 2; i + 2 <= degrees; i += 2) {
    term *= static_cast<double>(i - 1) / static_cast<double>(i) * cosine * cosine;
    sum += term;
  }
  sum *= std::sin(angle);
  return odd ? 2 / std::numbers::pi * (angle + sum) : sum;
}

}  // namespace

double student(std::size_t degrees, double miss) {
  double low = 0;
  double high = std::numbers::pi / 2;
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (within(middle, degrees) < 1 - miss ? low : high) = middle;
  }
  return std::tan(low) * std::sqrt(static_cast<double>(degrees));
}

Gain gain_of(std::span<const double> before, std::span<const double> after, double miss, double least) {
  const std::size_t pairs = std::min(before.size(), after.size());
  if (pairs == 0) {
    return {};
  }
  const auto count = static_cast<double>(pairs);
  double mean = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    mean += std::log(before[i] / after[i]) / count;
  }
  double squares = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const double off = std::log(before[i] / after[i]) - mean;
    squares += off * off;
  }
  // Few pairs may agree by chance.
  const double half =
      pairs < 2 ? least * std::numbers::sqrt2
                : std::max(student(pairs - 1, miss) * std::sqrt(squares / (count - 1) / count), least);
  return {
      .ratio = std::exp(mean), .low = std::exp(mean - half), .high = std::exp(mean + half), .pairs = pairs};
}

}  // namespace sluice
