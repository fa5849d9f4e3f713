#include "stages/rewrite/elsewhere.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include "pipeline/area.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string folder;

std::string data_of(const std::string& name) {
  return folder + "/there/sluice-" + name;
}

// The end of the stack. At the first open the file comes home, and its row becomes another file's, as when
// many are made.
struct Bottom : sluice_next {
  AreaMove* row = nullptr;

  std::int64_t open(sluice_activity& activity) {
    if (row != nullptr) {
      fs::rename(data_of("one"), folder + "/one");
      end_move(*this_area(), *row);
      EXPECT_EQ(new_move(*this_area(), folder + "/other", data_of("one")), row);
      std::strcpy(row->data.data(), data_of("other").c_str());
      row->state = AreaMove::there;
      row = nullptr;
    }
    activity.result = openat(activity.descriptor, activity.target, activity.flags);
    activity.error = errno;
    return activity.result;
  }
};

TEST(Elsewhere, ARowThatIsAnothersHandsOutNoOtherFile) {
  constexpr std::size_t bytes = sizeof(Area) + 64 + moves_bytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Area* area = new (memory) Area;
  area->moves = (sizeof(Area) + 63) / 64 * 64;
  set_area(area);
  std::string name = (fs::temp_directory_path() / "elsewhere-XXXXXX").string();
  folder = fs::canonical(mkdtemp(name.data()));
  fs::create_directory(folder + "/there");
  std::ofstream(data_of("one")) << "one";
  std::ofstream(data_of("other")) << "other";
  AreaMove* row = new_move(*area, folder + "/one", data_of("one"));
  row->state = AreaMove::there;
  ASSERT_TRUE(link_to(*area, *row));

  Bottom bottom;
  bottom.row = row;
  bottom.act = [](const sluice_next* next, sluice_activity* activity) {
    return static_cast<Bottom*>(const_cast<sluice_next*>(next))->open(*activity);
  };
  const std::string path = folder + "/one";
  sluice_activity activity{};
  activity.size = sizeof activity;
  activity.operation = SLUICE_OPEN;
  activity.descriptor = AT_FDCWD;
  activity.flags = O_RDWR;
  activity.path = path.c_str();
  activity.target = path.c_str();
  void* state = nullptr;
  const auto fd = static_cast<int>(act_elsewhere({}, &state, activity, &bottom));
  char text[6] = "";
  EXPECT_EQ(read(fd, text, 5), 3);
  EXPECT_STREQ(text, "one");
  EXPECT_EQ(state, nullptr) << "it is home";

  close(fd);
  fs::remove_all(folder);
  set_area(nullptr);
  munmap(memory, bytes);
}

}  // namespace
}  // namespace sluice
