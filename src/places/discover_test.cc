#include "places/discover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/json.h"
#include "base/sys.h"
#include "places/place_json.h"

namespace sluice {
namespace {

// A folder that stands for another machine, gone at the end.
class System {
 public:
  System() {
    std::string pattern = testing::TempDir() + "/places-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~System() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
    std::filesystem::create_symlink(target, folder_ + path);
  }
  [[nodiscard]] Result<Discovery> look(std::string_view config = "") const {
    DiscoverOptions options;
    options.system = folder_;
    return discover(*Config::parse(config, "test.toml"), options);
  }

 private:
  std::string folder_;
};

std::string octal(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += c == ' ' || c == '\n' || c == '\t' || c == '\\' ? fmt::format("\\{:03o}", static_cast<unsigned>(c))
                                                           : std::string(1, c);
  }
  return out;
}

TEST(Discover, OddPaths) {
  const System system;
  std::string longest;
  while (longest.size() < 4096) {
    longest += "/" + std::string(std::min<std::size_t>(254, 4095 - longest.size()), 'x');
  }
  const std::vector<std::string> points = {"/with\nnewline", "/with blanks\tand \\ backslash",
                                           "/not-\xff\xfe-utf8", longest, "/caf\xc3\xa9"};
  std::string mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
  std::string answers = "/ bsize=4096 frsize=4096 blocks=1000 bavail=500\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    mountinfo +=
        fmt::format("{} 1 0:{} / {} rw - tmpfs {} rw\n", i + 2, i + 50, octal(points[i]), octal(points[i]));
    answers +=
        fmt::format("{} bsize=4096 frsize=4096 blocks={} bavail=1 writable\n", octal(points[i]), i + 1);
  }
  system.write("/proc/self/mountinfo", mountinfo);
  system.write("/answers", answers);
  const auto found = system.look();
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->places.size(), points.size() + 1);
  std::set<std::string> names;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto place = std::find_if(found->places.begin(), found->places.end(),
                                    [&](const Place& one) { return one.mount == points[i]; });
    ASSERT_NE(place, found->places.end()) << i;
    EXPECT_EQ(place->path, points[i]);
    EXPECT_EQ(*place->capacity, 4096 * (i + 1));
    EXPECT_TRUE(names.insert(place->name).second);
    EXPECT_NO_THROW(static_cast<void>(to_json(*place).dump()));
  }
}

TEST(Discover, ThePlaceOfAPath) {
  const auto place = [](std::string mount, std::string path, std::string id) {
    Place out;
    out.mount = std::move(mount);
    out.path = std::move(path);
    out.id = std::move(id);
    return out;
  };
  const Discovery found{.places = {place("/", "/home/you", "a"), place("/", "/data/mine", "a:/data/mine"),
                                   place("/mnt/b", "/mnt/b", "b")},
                        .skipped = {{.mount = "/run", .filesystem = "tmpfs", .because = "the system's"},
                                    {.mount = "/mnt/b", .filesystem = "nfs", .because = "hidden"}}};
  const auto id = [&](std::string_view path) {
    const Place* out = place_of(found, path);
    return out == nullptr ? "none" : out->id;
  };
  EXPECT_EQ(id("/home/you/x"), "a");
  EXPECT_EQ(id("/srv/x"), "a");
  EXPECT_EQ(id("/data/mine/x"), "a:/data/mine");
  EXPECT_EQ(id("/data/minex"), "a");
  EXPECT_EQ(id("/mnt/b"), "b");
  EXPECT_EQ(id("/mnt/bb"), "a");
  EXPECT_EQ(id("/run/x"), "none");
}

TEST(Discover, AThousandMountsInTime) {
  const System system;
  std::string mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
  for (int i = 0; i < 1000; ++i) {
    mountinfo +=
        fmt::format("{} 1 0:{} / /mnt/scratch/job{} rw,relatime - nfs4 server:/export/{} rw,vers=4.2\n",
                    i + 2, i + 50, i, i);
  }
  system.write("/proc/self/mountinfo", mountinfo);
  system.write("/answers", "* bsize=1048576 frsize=1048576 blocks=1000 bavail=500 writable\n");
  const auto found = system.look();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->places.size(), 1001U);
}

TEST(Discover, MalformedLinesAreToldNotFatal) {
  const System system;
  system.write("/proc/self/mountinfo", "garbage\n1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
  system.write("/answers", "/ bsize=4096 frsize=4096 blocks=1000 bavail=500 writable\n");
  const auto found = system.look();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->places.size(), 1U);
  EXPECT_NE(found->skipped.at(0).because.find("line 1"), std::string::npos);
}

TEST(Discover, DevicesThatBiteTheirOwnTail) {
  const System system;
  system.write("/proc/self/mountinfo",
               "1 0 253:0 / / rw - ext4 /dev/mapper/a rw\n2 1 7:0 / /loop rw - ext4 /dev/loop0 rw\n"
               "3 1 0:9 / /over rw - overlay overlay rw,upperdir=/over/upper\n");
  system.write("/answers", "* bsize=4096 frsize=4096 blocks=1000 bavail=500 writable\n");
  system.write("/sys/block/dm-0/dm/uuid", "CRYPT-x\n");
  system.link("/sys/dev/block/253:0", "../../block/dm-0");
  system.link("/sys/block/dm-0/slaves/dm-0", "../../dm-0");
  system.write("/sys/block/loop0/loop/backing_file", "/loop/file\n");
  system.link("/sys/dev/block/7:0", "../../block/loop0");
  const auto found = system.look();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->places.size(), 3U);
}

TEST(Discover, ClonesOfOneImageStayApart) {
  const System system;
  system.write("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /b rw - ext4 /dev/b rw\n");
  system.write("/answers", "* bsize=4096 frsize=4096 blocks=1000 bavail=500 writable uuid=same\n");
  const auto found = system.look();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->places.at(0).id, "same");
  EXPECT_EQ(found->places.at(1).id, "same:/b");
}

TEST(Discover, ThisMachine) {
  const auto found = discover(*Config::parse("", "x"));
  ASSERT_TRUE(found) << found.error().text();
  const auto root = std::find_if(found->places.begin(), found->places.end(),
                                 [](const Place& place) { return place.mount == "/"; });
  ASSERT_NE(root, found->places.end());
  EXPECT_EQ(root->reach, Reach::reachable) << root->reach_note;
  struct statvfs space {};
  ASSERT_EQ(statvfs("/", &space), 0);
  EXPECT_EQ(*root->capacity, space.f_blocks * space.f_frsize);
  EXPECT_FALSE(root->id.empty());
  // Whatever it offers as a path can be written to if it says so.
  for (const Place& place : found->places) {
    EXPECT_EQ(place.writable, place.reach == Reach::reachable && access(place.path.c_str(), W_OK) == 0)
        << place.path;
  }
}

TEST(Discover, ThisMachineFromAProcessWithThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { good += discover(*Config::parse("", "x")) ? 1 : 0; });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(good, 4);
}

TEST(Discover, LeavesNoChildren) {
  ASSERT_TRUE(discover(*Config::parse("", "x")));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Discover, EveryCallFailingInTurnIsSurvived) {
  const Config config = *Config::parse("", "x");
  std::size_t calls = 0;
  {
    const FailNth counting(0, 0);
    ASSERT_TRUE(discover(config));
    calls = counting.calls();
  }
  ASSERT_GT(calls, 10U);
  // The probing children go on counting where the parent stood, hence more than the parent's own calls.
  for (std::size_t n = 1; n <= calls + 20; ++n) {
    for (const int number : {EIO, EACCES, ENOENT, ENOMEM, EINTR}) {
      const FailNth failing(n, number);
      const auto found = discover(config);
      EXPECT_TRUE(found || !found.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace sluice
