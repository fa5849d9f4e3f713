#include "forecast/chain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace sluice {
namespace {

constexpr double year = 365 * 86400.0;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40;

const DiskModel paper_disk{.mttf = 10 * year, .mttr = 86400, .uber = uber(1e-6, 512, 2)};
// So bad that nothing may be neglected.
const DiskModel bad_disk{.mttf = 10, .mttr = 4, .uber = 1e-10};

Layout layout(std::string_view text) {
  return *parse_layout(text);
}

double exact(std::string_view text, const DiskModel& disk, std::uint64_t bytes) {
  return mean_time(chain_of(layout(text), disk, bytes));
}

// The mean time another way: the equations of the chain by Gaussian elimination with pivots.
double solved(const Chain& chain) {
  const std::size_t n = chain.moves.size();
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    rows[i][i] = chain.loss[i];
    rows[i][n] = 1;
    for (const Chain::Move& move : chain.moves[i]) {
      rows[i][i] += move.rate;
      rows[i][move.to] -= move.rate;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t best = i;
    for (std::size_t j = i; j < n; ++j) {
      best = std::abs(rows[j][i]) > std::abs(rows[best][i]) ? j : best;
    }
    std::swap(rows[i], rows[best]);
    for (std::size_t j = 0; j < n; ++j) {
      const double factor = j == i ? 0 : rows[j][i] / rows[i][i];
      for (std::size_t k = i; k <= n; ++k) {
        rows[j][k] -= factor * rows[i][k];
      }
    }
  }
  return rows[0][n] / rows[0][0];
}

// The probability of loss another way: the differential equations in small steps (Runge and Kutta's).
double integrated(const Chain& chain, double seconds, int steps) {
  const std::size_t n = chain.moves.size();
  using State = std::vector<double>;  // the last is lost
  const auto slope = [&](const State& at) {
    State out(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
      out[n] += at[i] * chain.loss[i];
      out[i] -= at[i] * chain.loss[i];
      for (const Chain::Move& move : chain.moves[i]) {
        out[move.to] += at[i] * move.rate;
        out[i] -= at[i] * move.rate;
      }
    }
    return out;
  };
  const auto moved = [&](const State& at, const State& along, double by) {
    State out = at;
    for (std::size_t i = 0; i <= n; ++i) {
      out[i] += along[i] * by;
    }
    return out;
  };
  State at(n + 1);
  at.at(0) = 1;
  const double h = seconds / steps;
  for (int step = 0; step < steps; ++step) {
    const State a = slope(at);
    const State b = slope(moved(at, a, h / 2));
    const State c = slope(moved(at, b, h / 2));
    const State d = slope(moved(at, c, h));
    at = moved(moved(moved(moved(at, a, h / 6), b, h / 3), c, h / 3), d, h / 6);
  }
  return at[n];
}

TEST(Chain, FollowsPaperAndPencil) {
  // Two disks: from both to one at 2/F, back at 1/R, lost at 1/F and with probability p on the way.
  const double f = bad_disk.mttf;
  const double r = bad_disk.mttr;
  const double p = -std::expm1(static_cast<double>(gibibyte) * 8 * std::log1p(-bad_disk.uber));
  ASSERT_GT(p, 0.5);
  const double survive = (1 - p) * (1 / r) / (1 / r + 1 / f);  // a failure, until all is well again
  const double cycle = f / 2 + (1 - p) / (1 / r + 1 / f);
  EXPECT_NEAR(exact("raid1:2", bad_disk, gibibyte), cycle / (1 - survive), 1e-12);
  EXPECT_NEAR(exact("single", bad_disk, gibibyte), f, 1e-12);
  EXPECT_NEAR(exact("raid0:4", bad_disk, gibibyte), f / 4, 1e-12);
  // Only the last failure that can be borne starts a rebuild that nothing protects.
  const Chain three = chain_of(layout("replica:3"), bad_disk, gibibyte);
  ASSERT_EQ(three.loss.size(), 3U);
  EXPECT_EQ(three.loss[0], 0);
  EXPECT_NEAR(three.loss[1], 2 / f * p, 1e-12);
  EXPECT_NEAR(three.loss[2], 1 / f, 1e-12);
  // The rebuild reads all members that are left.
  const Chain five = chain_of(layout("raid5:5"), bad_disk, gibibyte);
  EXPECT_NEAR(five.loss[0], 5 / f * (1 - std::pow(1 - p, 4)), 1e-12);
}

TEST(Chain, AgreesWithTheClosedFormWhereThatHolds) {
  for (const char* text :
       {"raid1:2", "raid5:5", "raid6:6", "raid10:4", "replica:3", "mds:4+2", "mds:10+4", "raid10:20",
        "raid0(raid5:5,raid5:5)", "raid0(raid6:6,raid6:6)", "raid1(raid0:2,raid0:2)",
        "raid1(raid1:2,raid1:2)", "raid5(raid1:2,raid1:2,raid1:2)"}) {
    for (std::uint64_t bytes = 1; bytes < tebibyte; bytes *= 4) {
      const double closed = mttdl(layout(text), paper_disk, bytes);
      if (rebuild_errors(layout(text), paper_disk, bytes) < 0.1) {
        EXPECT_NEAR(closed / exact(text, paper_disk, bytes), 1, 0.1) << text << " " << bytes;
      }
    }
    // Where a rebuild surely fails the closed form must be far off, or (d-1)h would be no criterion.
    EXPECT_GT(exact(text, paper_disk, 64 * tebibyte) / mttdl(layout(text), paper_disk, 64 * tebibyte), 2)
        << text;
  }
  EXPECT_NEAR(exact("raid1:2", paper_disk, tebibyte) / year, 15.7, 0.1);
  EXPECT_NEAR(exact("raid5:5", paper_disk, tebibyte) / year * 12, 30.6, 0.1);
}

// What a plan promises by the closed form holds by the chain too.
TEST(Chain, IsNeverBelowTheClosedForm) {
  for (const char* text :
       {"raid0:4", "raid1:2", "raid6:6", "raid10:4", "mds:10+4", "raid0(raid6:6,raid5:6)",
        "raid1(raid0:2,raid0:2)", "raid5(raid1:2,raid0:2,single)", "raid1(raid0(raid1:2,raid1:2),raid5:3)"}) {
    for (const double mttr : {1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4}) {
      for (const double rate : {0.0, 1e-20, 1e-14, 1e-12, 1e-11, 1e-10, 1e-9, 1e-4, 0.5}) {
        const DiskModel disk{.mttf = 100, .mttr = mttr, .uber = rate};
        EXPECT_LE(mttdl(layout(text), disk, gibibyte), exact(text, disk, gibibyte) * (1 + 1e-9))
            << text << " " << mttr << " " << rate;
      }
    }
  }
}

TEST(Chain, AgreesWithOtherSolutions) {
  for (const char* text :
       {"raid1:2", "raid5:5", "raid6:6", "raid10:8", "mds:6+4", "raid0(raid5:5,raid6:6)",
        "raid1(raid1:2,raid1:2)", "raid5(raid1:2,raid0:2,single)", "raid6(raid5:4,raid5:4,raid0:2,single)"}) {
    const Chain chain = chain_of(layout(text), bad_disk, gibibyte / 8);
    EXPECT_FALSE(chain.approximate) << text;
    const double mean = mean_time(chain);
    EXPECT_NEAR(mean / solved(chain), 1, 1e-9) << text;
    for (const double share : {0.01, 0.3, 2.0}) {
      EXPECT_NEAR(lost_within(chain, share * mean) / integrated(chain, share * mean, 20000), 1, 1e-6) << text;
      EXPECT_NEAR(lost_within(layout(text), bad_disk, gibibyte / 8, share * mean).loss,
                  lost_within(chain, share * mean), 1e-9)
          << text;
    }
  }
}

// One chain of all groups must be what independent groups give.
TEST(Chain, OfGroupsSideBySideIsExact) {
  const Chain pair = chain_of(layout("raid1:2"), bad_disk, gibibyte / 2);
  double mean = 0;  // the integral of the probability that both pairs are alive
  const double step = 0.05;
  for (int i = 0; i < 12000; ++i) {
    const double alive = 1 - lost_within(pair, (i + 0.5) * step);
    mean += alive * alive * step;
  }
  EXPECT_NEAR(exact("raid10:4", bad_disk, gibibyte) / mean, 1, 1e-4);
}

TEST(Chain, KeepsItsDigitsWhateverTheRates) {
  for (const double ratio : {1e-30, 1e-15, 1.0, 1e15, 1e30}) {
    const DiskModel disk{.mttf = 1 / ratio, .mttr = 1, .uber = 0};
    // Without read errors, two disks: (3 + F/R) F / 2.
    const double f = disk.mttf;
    EXPECT_NEAR(exact("raid1:2", disk, 1) / ((3 + f) * f / 2), 1, 1e-12) << ratio;
    // Three: F/3 (1 + ...), the sum of all ways up and down.
    const double three = f / 3 + f / 2 * (1 + f / 3) + f * (1 + f / 2 * (1 + f / 3));
    EXPECT_NEAR(exact("raid1:3", disk, 1) / three, 1, 1e-12) << ratio;
  }
  const DiskModel disk{.mttf = 1e9, .mttr = 1, .uber = 0};
  // Tiny probabilities, after the repairs have settled: those of an exponential life.
  const double mean = exact("mds:4+3", disk, 1);
  EXPECT_NEAR(lost_within(layout("mds:4+3"), disk, 1, 1e6).loss / (1e6 / mean), 1, 1e-5);
  EXPECT_LT(lost_within(layout("mds:4+3"), disk, 1, 1e6).loss, 1e-20);
  EXPECT_NEAR(lost_within(layout("mds:4+3"), disk, 1, mean).loss, 1 - std::exp(-1), 1e-9);
}

TEST(Chain, TakesAnySize) {
  EXPECT_TRUE(std::isinf(exact("replica:65536", paper_disk, 1)));
  EXPECT_GT(exact("raid10:65536", paper_disk, gibibyte), 0);
  EXPECT_TRUE(std::isfinite(exact("mds:200+40", paper_disk, tebibyte)));
  EXPECT_EQ(lost_within(layout("replica:65536"), paper_disk, 1, year).loss, 0);
  // Too many ways to stand: members by their mean life, which is near.
  std::string many = "raid0(raid6:6";
  for (int i = 1; i < 60; ++i) {
    many += ",raid6:6";
  }
  const Chain coarse = chain_of(layout(many + ")"), paper_disk, 60 * gibibyte);
  EXPECT_TRUE(coarse.approximate);
  EXPECT_NEAR(mean_time(coarse) * 60 / exact("raid6:6", paper_disk, gibibyte), 1, 0.01);
  std::string unlike = "mds:37+3(raid0:1";
  for (int i = 2; i <= 40; ++i) {
    unlike += ",raid0:" + std::to_string(i);
  }
  EXPECT_TRUE(chain_of(layout(unlike + ")"), paper_disk, gibibyte).approximate);
  EXPECT_GT(exact(unlike + ")", paper_disk, gibibyte), year);
}

}  // namespace
}  // namespace sluice
