// How long the catalog takes: look-ups among 100 000 places and as many files, sums of promises, opening, and
// writes to stable storage.
#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.h"

namespace {

using sluice::Catalog;

constexpr int kRows = 100'000;
constexpr int kPlacesOfFiles = 20;

std::string place_id(int i) {
  return "uuid:4f0c1f9e-0000-4000-8000-" + std::to_string(i);
}
std::string file_path(int i) {
  return "/home/user/project/results/run-" + std::to_string(i) + "/output.h5";
}

// A catalog with kRows places and kRows files, made once and removed at the end.
class Sample {
 public:
  Sample() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice_bench_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      std::abort();
    }
    folder_ = name;
    auto catalog = open(Catalog::Mode::write);
    std::vector<sluice::PlaceRow> places;
    for (int i = 0; i < kRows; ++i) {
      places.push_back({.id = place_id(i),
                        .name = "place" + std::to_string(i),
                        .path = "/mnt/" + std::to_string(i),
                        .traits = std::string(400, 't'),
                        .seen = i});
    }
    check(catalog->put_places(places).has_value());
    catalog.reset();
    fill_files();
  }
  ~Sample() { std::filesystem::remove_all(folder_); }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  [[nodiscard]] std::unique_ptr<Catalog> open(Catalog::Mode mode) const {
    auto catalog = sluice::open_catalog(path(), mode);
    check(catalog.has_value());
    return std::move(*catalog);
  }
  [[nodiscard]] std::string path() const { return folder_ + "/catalog.db"; }

  static void check(bool good) {
    if (!good) {
      std::abort();
    }
  }

 private:
  // By SQL, because the interface has one transaction a file and each waits for the disk.
  void fill_files() const {
    const std::string sql =
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " +
        std::to_string(kRows) +
        ") INSERT INTO files SELECT CAST('/home/user/project/results/run-' || i || '/output.h5' AS BLOB), "
        "'temp write sequential', CAST('uuid:4f0c1f9e-0000-4000-8000-' || (i % " +
        std::to_string(kPlacesOfFiles) + ") AS BLOB), 1048576 FROM n";
    sqlite3* handle = nullptr;
    check(sqlite3_open(path().c_str(), &handle) == SQLITE_OK);
    check(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    check(sqlite3_close(handle) == SQLITE_OK);
  }

  std::string folder_;
};

const Sample& sample() {
  static const Sample instance;
  return instance;
}

template <class LookUp>
void look_up(benchmark::State& state, LookUp&& find) {
  const auto catalog = sample().open(Catalog::Mode::read);
  std::vector<std::string> keys;
  unsigned seed = 1;
  for (int i = 0; i < 1024; ++i) {
    seed = seed * 1664525U + 1013904223U;
    keys.push_back(find.key(static_cast<int>(seed % kRows)));
  }
  std::size_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    auto found = find(*catalog, keys[i++ % keys.size()]);
    benchmark::DoNotOptimize(found);
  }
}

struct FindPlace {
  static std::string key(int i) { return place_id(i); }
  auto operator()(Catalog& catalog, const std::string& key) const { return catalog.find_place(key); }
};
struct MissPlace : FindPlace {
  static std::string key(int i) { return place_id(i) + "x"; }
};
struct FindFile {
  static std::string key(int i) { return file_path(i); }
  auto operator()(Catalog& catalog, const std::string& key) const { return catalog.find_file(key); }
};
struct MissFile : FindFile {
  static std::string key(int i) { return file_path(i) + "x"; }
};
struct Promised {
  static std::string key(int i) { return place_id(i % kPlacesOfFiles); }
  auto operator()(Catalog& catalog, const std::string& key) const { return catalog.promised(key); }
};

void find_place_hit(benchmark::State& state) {
  look_up(state, FindPlace());
}
void find_place_miss(benchmark::State& state) {
  look_up(state, MissPlace());
}
void find_file_hit(benchmark::State& state) {
  look_up(state, FindFile());
}
void find_file_miss(benchmark::State& state) {
  look_up(state, MissFile());
}
void promised(benchmark::State& state) {
  look_up(state, Promised());
}

void open_read(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(sample().open(Catalog::Mode::read));
  }
}

void open_write(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(sample().open(Catalog::Mode::write));
  }
}

void put_file(benchmark::State& state) {
  const auto catalog = sample().open(Catalog::Mode::write);
  std::uint64_t i = 0;
  for ([[maybe_unused]] auto _ : state) {
    Sample::check(
        catalog->put_file({.path = "/bench", .intent = "temp", .place = place_id(0), .promised = ++i})
            .has_value());
  }
  Sample::check(catalog->remove_file("/bench").has_value());
}

BENCHMARK(find_place_hit);
BENCHMARK(find_place_miss);
BENCHMARK(find_file_hit);
BENCHMARK(find_file_miss);
BENCHMARK(promised);
BENCHMARK(open_read)->Unit(benchmark::kMicrosecond);
BENCHMARK(open_write)->Unit(benchmark::kMicrosecond);
BENCHMARK(put_file)->Unit(benchmark::kMicrosecond);

}  // namespace
