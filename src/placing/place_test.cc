#include "placing/place.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "catalog/sqlite.h"
#include "intent/parse.h"
#include "placing/spot.h"

namespace sluice {
namespace {

// A home and a faster place, two folders.
class Placing : public testing::Test {
 protected:
  Placing() {
    std::string folder = testing::TempDir() + "sluice_placing_XXXXXX";
    root_ = std::filesystem::canonical(mkdtemp(folder.data())).string();
    std::filesystem::create_directory(root_ + "/home");
    std::filesystem::create_directory(root_ + "/fast");
    catalog_ = std::move(*open_sqlite(root_ + "/c.db", Catalog::Mode::write));
    found_.places = {place("home", 1e6), place("fast", 1e9)};
  }
  ~Placing() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] Place place(const std::string& name, double rate) const {
    Place out;
    out.name = name;
    out.id = "test:" + name;
    out.path = root_ + "/" + name;
    out.mount = out.path;
    out.volume = out.id;
    out.writable = true;
    out.free = {.value = std::uint64_t{1} << 30, .source = Source::system, .detail = ""};
    out.is_volatile = {.value = false, .source = Source::system, .detail = ""};
    out.read_bandwidth = {.value = rate, .source = Source::configuration, .detail = ""};
    out.write_bandwidth = out.read_bandwidth;
    return out;
  }

  Result<Placed> put(const std::string& path, const std::string& words = "totalsize(1M)",
                     bool folder = false) {
    const Intent intent = placing_intent(found_, path, *parse_intent(words));
    return place_new(*catalog_, found_, make_plan(intent, found_.places), path, folder);
  }

  std::string root_;
  std::unique_ptr<Catalog> catalog_;
  Discovery found_;
};

TEST_F(Placing, ANewFileGoesThroughTheLink) {
  const std::string path = root_ + "/home/out.dat";
  const auto placed = put(path);
  ASSERT_TRUE(placed) << placed.error().text();
  EXPECT_TRUE(placed->elsewhere());
  EXPECT_EQ(placed->path, path);
  EXPECT_EQ(placed->place, "test:fast");
  EXPECT_EQ(std::filesystem::read_symlink(path), placed->target);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::ofstream(path) << "bytes";
  EXPECT_EQ(std::filesystem::file_size(placed->target), 5U);
  EXPECT_EQ(std::filesystem::path(placed->target).filename(), "out.dat");
  struct stat box {};
  ASSERT_EQ(stat(std::filesystem::path(placed->target).parent_path().c_str(), &box), 0);
  EXPECT_EQ(box.st_mode & 07777U, 0700U);
  EXPECT_EQ(catalog_->promised("test:fast").value(), std::uint64_t{1} << 20);
  const auto found = find_placed(*catalog_, root_ + "/home/./out.dat");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->target, placed->target);
}

TEST_F(Placing, ANewFolderIsThereAtOnce) {
  const auto placed = put(root_ + "/home/out", "", true);
  ASSERT_TRUE(placed) << placed.error().text();
  std::ofstream(root_ + "/home/out/a") << "x";
  EXPECT_EQ(std::filesystem::file_size(placed->target + "/a"), 1U);
}

TEST_F(Placing, WhatIsWellPlacedStays) {
  const auto placed = put(root_ + "/fast/out");
  ASSERT_TRUE(placed) << placed.error().text();
  EXPECT_FALSE(placed->elsewhere());
  EXPECT_TRUE(catalog_->placements().value().empty());
}

TEST_F(Placing, RefusalsChangeNothing) {
  std::ofstream(root_ + "/home/there") << "x";
  EXPECT_EQ(put(root_ + "/home/there").error().number, EEXIST);
  EXPECT_EQ(put(root_ + "/home/none/x").error().number, ENOENT);
  EXPECT_EQ(put(root_ + "/home/big", "totalsize(2G)").error().number, ENOSPC);
  EXPECT_TRUE(put("/").error().usage);
  ASSERT_TRUE(put(root_ + "/home/a"));
  EXPECT_EQ(put(root_ + "/home/a").error().number, EEXIST);
  EXPECT_EQ(catalog_->placements().value().size(), 1U);
  std::filesystem::create_directory(root_ + "/home/open");
  ASSERT_EQ(chmod((root_ + "/home/open").c_str(), 0777), 0);
  EXPECT_EQ(put(root_ + "/home/open/x").error().number, EPERM);
  // A link that somebody planted where this user's folder would be.
  std::filesystem::remove_all(root_ + "/fast/sluice-placed-" + std::to_string(geteuid()));
  std::filesystem::create_symlink(root_ + "/home",
                                  root_ + "/fast/sluice-placed-" + std::to_string(geteuid()));
  EXPECT_FALSE(put(root_ + "/home/b"));
  EXPECT_EQ(catalog_->placements().value().size(), 1U);
}

// As `undo` of the last path that is placed there does, by whatever process.
TEST_F(Placing, ItsFolderMayBeRemovedByAnybodyWhoIsDoneAtAnyMoment) {
  const std::string own = root_ + "/fast/" + own_name();
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) {
      rmdir(own.c_str());
      usleep(50);  // as somebody who has something to do in between
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto box = choose_box(found_.places[1], root_ + "/home/a");
    const auto made = box ? make_box(*box, root_ + "/home/a", false) : Result<UniqueFd>(box.error());
    EXPECT_TRUE(made) << made.error().text();
    if (made) {
      remove_box(box->target("a"));
    }
  }
  over = true;
  other.join();
}

TEST_F(Placing, DataThatMustLastDoesNotVanish) {
  found_.places[1].is_volatile.value = true;
  EXPECT_FALSE(put(root_ + "/home/a")->elsewhere());
  EXPECT_TRUE(put(root_ + "/home/b", "temp")->elsewhere());
}

}  // namespace
}  // namespace sluice
