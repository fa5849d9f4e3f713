#include "places/remember.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice {
namespace {

// Rows in memory; counts what is written.
class MemoryCatalog final : public Catalog {
 public:
  MemoryCatalog() = default;
  Status put_places(const std::vector<PlaceRow>& rows) override {
    ++writes;
    for (const PlaceRow& row : rows) {
      all[row.id] = row;
    }
    return {};
  }
  Result<std::optional<PlaceRow>> find_place(std::string_view id) override {
    const auto found = all.find(std::string(id));
    return found != all.end() ? std::optional(found->second) : std::nullopt;
  }
  Result<std::vector<PlaceRow>> places() override {
    std::vector<PlaceRow> out;
    for (const auto& [id, row] : all) {
      out.push_back(row);
    }
    return out;
  }
  Status put_file(const FileRow& /*row*/) override { return {}; }
  Result<std::optional<FileRow>> find_file(std::string_view /*path*/) override {
    return std::optional<FileRow>{};
  }
  Status remove_file(std::string_view /*path*/) override { return {}; }
  Result<std::vector<FileRow>> files() override { return std::vector<FileRow>{}; }
  Result<std::uint64_t> promised(std::string_view /*place_id*/) override { return std::uint64_t{0}; }
  Status put_profile(const ProfileRow& /*row*/) override { return {}; }
  Result<std::optional<ProfileRow>> find_profile(std::string_view /*place_id*/) override {
    return std::optional<ProfileRow>();
  }
  Result<std::vector<std::string>> profiles() override { return std::vector<std::string>(); }
  Status add_placement(const PlacementRow& /*row*/, std::uint64_t /*promised*/) override { return {}; }
  Status put_placement(const PlacementRow& /*row*/, std::optional<std::uint64_t> /*promised*/) override {
    return {};
  }
  Result<std::optional<PlacementRow>> find_placement(std::string_view /*path*/) override {
    return std::optional<PlacementRow>{};
  }
  Result<std::vector<PlacementRow>> placements() override { return std::vector<PlacementRow>{}; }
  Status rename_placement(std::string_view /*from*/, std::string_view /*to*/) override { return {}; }
  Status remove_placement(std::string_view /*path*/) override { return {}; }
  Result<UniqueFd> lock_placement(std::string_view /*path*/) override { return UniqueFd(); }
  Status add_outcomes(const std::vector<OutcomeRow>& /*rows*/, std::int64_t /*oldest*/) override {
    return {};
  }
  Result<std::vector<OutcomeRow>> outcomes() override { return std::vector<OutcomeRow>{}; }
  Status forget_outcomes(std::string_view /*place_id*/) override { return {}; }
  [[nodiscard]] std::string description() const override { return "memory"; }

  std::map<std::string, PlaceRow> all;
  int writes = 0;
};

template <class T>
Trait<T> known(T value) {
  return {.value = std::move(value), .source = Source::system, .detail = "test"};
}

Place sample() {
  Place out;
  out.name = "bulk";
  out.path = "/bulk";
  out.mount = "/bulk";
  out.filesystem = "nfs";
  out.origin = "server:/bulk";
  out.id = "nfs:server:/bulk";
  out.capacity = known<std::uint64_t>(1000);
  out.free = known<std::uint64_t>(500);
  out.media = known(Media::network);
  out.global = known(true);
  out.is_volatile = known(false);
  out.layout = known(*parse_layout("replica:3"));
  return out;
}

TEST(Remember, WritesOnceAndThenOnlyChanges) {
  MemoryCatalog catalog;
  std::vector<Place> places = {sample()};
  ASSERT_TRUE(remember(catalog, places));
  EXPECT_EQ(catalog.writes, 1);
  places[0].free = known<std::uint64_t>(400);  // changes all the time
  places[0].path = "/bulk/elsewhere";          // depends on the current folder
  ASSERT_TRUE(remember(catalog, places));
  EXPECT_EQ(catalog.writes, 1);
  places[0].capacity = known<std::uint64_t>(2000);
  ASSERT_TRUE(remember(catalog, places));
  EXPECT_EQ(catalog.writes, 2);
  EXPECT_EQ(catalog.all.begin()->second.path, "/bulk/elsewhere");
}

TEST(Remember, WritesAgainAfterAnHourOrWhenTheClockWasWrong) {
  MemoryCatalog catalog;
  const std::vector<Place> places = {sample()};
  ASSERT_TRUE(remember(catalog, places));
  catalog.all.begin()->second.seen -= 3601;
  ASSERT_TRUE(remember(catalog, places));
  EXPECT_EQ(catalog.writes, 2);
  catalog.all.begin()->second.seen += 100000;
  ASSERT_TRUE(remember(catalog, places));
  EXPECT_EQ(catalog.writes, 3);
}

TEST(Remember, UnreachablePlacesAreNotWritten) {
  MemoryCatalog catalog;
  std::vector<Place> places = {sample()};
  places[0].reach = Reach::unreachable;
  ASSERT_TRUE(remember(catalog, places));
  EXPECT_EQ(catalog.writes, 0);
}

Place unreachable() {
  Place out;
  out.mount = "/bulk";
  out.filesystem = "nfs";
  out.origin = "server:/bulk";
  out.id = "nfs:server:/bulk";
  out.reach = Reach::unreachable;
  out.is_volatile = {.value = true, .source = Source::fallback, .detail = "assumed"};
  out.global = {.value = false, .source = Source::configuration, .detail = "a.toml:1"};
  return out;
}

TEST(Recall, FillsWhatIsUnknown) {
  MemoryCatalog catalog;
  const std::vector<Place> seen = {sample()};
  ASSERT_TRUE(remember(catalog, seen));
  catalog.all.begin()->second.seen = 86400;
  std::vector<Place> places = {unreachable()};
  ASSERT_TRUE(recall(catalog, places));
  EXPECT_EQ(*places[0].capacity, 1000U);
  EXPECT_EQ(places[0].capacity.detail, "remembered from 1970-01-02T00:00:00Z");
  EXPECT_EQ(*places[0].media, Media::network);
  EXPECT_EQ(print(*places[0].layout), "replica:3");
  EXPECT_FALSE(*places[0].is_volatile) << "a memory beats an assumption";
  EXPECT_FALSE(*places[0].global) << "the configuration beats a memory";
  EXPECT_FALSE(places[0].free);
}

TEST(Recall, KnowsAPlaceByWhatIsMountedWhere) {
  MemoryCatalog catalog;
  std::vector<Place> seen = {sample()};
  seen[0].id = "some-uuid";
  ASSERT_TRUE(remember(catalog, seen));
  std::vector<Place> places = {unreachable()};
  ASSERT_TRUE(recall(catalog, places));
  EXPECT_EQ(places[0].id, "some-uuid");
  std::vector<Place> other = {unreachable()};
  other[0].origin = "server:/other";
  other[0].id = "nfs:server:/other";
  ASSERT_TRUE(recall(catalog, other));
  EXPECT_FALSE(other[0].capacity);
}

TEST(Recall, DamagedRowsAreNoMemory) {
  MemoryCatalog catalog;
  for (const char* traits :
       {"", "{", "[]", "3", "{\"traits\":3}", "{\"traits\":{\"capacity\":3,\"layout\":{\"value\":\"x\"}}}",
        "{\"traits\":{\"media\":{\"value\":9},\"volatile\":{\"value\":\"no\"}}}"}) {
    catalog.all["nfs:server:/bulk"] = {
        .id = "nfs:server:/bulk", .name = "bulk", .path = "/bulk", .traits = traits, .seen = 0};
    std::vector<Place> places = {unreachable()};
    ASSERT_TRUE(recall(catalog, places));
    EXPECT_FALSE(places[0].capacity) << traits;
    EXPECT_FALSE(places[0].layout) << traits;
  }
}

}  // namespace
}  // namespace sluice
