#include "catalog/location.h"

#include <linux/magic.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/sys.h"
#include "base/test_root.h"
#include "catalog/test_support.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
constexpr auto kRead = Catalog::Mode::read;
constexpr auto kWrite = Catalog::Mode::write;

// Sets or unsets a variable for its lifetime.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      before_ = old;
    }
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~ScopedVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(CatalogLocation, NetworkFileSystems) {
  for (const std::uint32_t type :
       {std::uint32_t{NFS_SUPER_MAGIC}, std::uint32_t{SMB_SUPER_MAGIC}, std::uint32_t{CIFS_SUPER_MAGIC},
        std::uint32_t{SMB2_SUPER_MAGIC}, 0x0BD00BD0U, std::uint32_t{CEPH_SUPER_MAGIC},
        std::uint32_t{FUSE_SUPER_MAGIC}, 0x47504653U, 0x19830326U, std::uint32_t{AFS_SUPER_MAGIC},
        std::uint32_t{AFS_FS_MAGIC}, std::uint32_t{V9FS_MAGIC}, 0x20030528U, 0x01161970U,
        std::uint32_t{OCFS2_SUPER_MAGIC}, std::uint32_t{CODA_SUPER_MAGIC}}) {
    EXPECT_TRUE(is_network_file_system(type)) << std::hex << type;
  }
  for (const std::uint32_t type :
       {std::uint32_t{EXT4_SUPER_MAGIC}, std::uint32_t{XFS_SUPER_MAGIC}, std::uint32_t{BTRFS_SUPER_MAGIC},
        std::uint32_t{TMPFS_MAGIC}, std::uint32_t{OVERLAYFS_SUPER_MAGIC}, 0x2FC12FC1U /* ZFS */, 0U}) {
    EXPECT_FALSE(is_network_file_system(type)) << std::hex << type;
  }
}

TEST(CatalogLocation, OneFileAHost) {
  EXPECT_EQ(per_host_path("/a/catalog.db", "n7"), "/a/catalog-n7.db");
  EXPECT_EQ(per_host_path("/a/catalog", "n7"), "/a/catalog-n7.db");
  EXPECT_EQ(per_host_path("/a.b/catalog", "n7.site"), "/a.b/catalog-n7.site.db");
  EXPECT_EQ(per_host_path("/a/.db", "n7"), "/a/.db-n7.db");
}

TEST(CatalogLocation, TheDefaultFollowsXdg) {
  const ScopedVariable home("HOME", "/home/u");
  {
    const ScopedVariable state("XDG_STATE_HOME", "/state");
    EXPECT_EQ(default_catalog_path().value(), "/state/sluice/catalog.db");
  }
  for (const char* ignored : {static_cast<const char*>(nullptr), "", "relative"}) {
    const ScopedVariable state("XDG_STATE_HOME", ignored);
    EXPECT_EQ(default_catalog_path().value(), "/home/u/.local/state/sluice/catalog.db");
  }
}

TEST(CatalogLocation, MissingHome) {
  const ScopedVariable state("XDG_STATE_HOME", nullptr);
  for (const char* value : {static_cast<const char*>(nullptr), "", "relative"}) {
    const ScopedVariable home("HOME", value);
    const auto catalog = open_catalog("", kWrite);
    ASSERT_FALSE(catalog);
    EXPECT_NE(catalog.error().text().find("HOME"), std::string::npos);
    EXPECT_NE(catalog.error().text().find("SLUICE_CATALOG"), std::string::npos);
  }
}

TEST(CatalogLocation, PostgresIsNotThereYet) {
  for (const char* url : {"postgres://u:secret@h/db", "postgresql://h/db", "PostgreSQL://h"}) {
    const auto catalog = open_catalog(url, kRead);
    ASSERT_FALSE(catalog);
    EXPECT_TRUE(catalog.error().usage);
    EXPECT_NE(catalog.error().text().find("not supported yet; give a path"), std::string::npos);
    EXPECT_EQ(catalog.error().text().find("secret"), std::string::npos);
  }
}

TEST(CatalogLocation, FoldersAndFileAreForTheOwnerAlone) {
  const test::TemporaryFolder folder;
  const mode_t before = umask(0);
  const auto catalog = open_catalog(folder / "x/y/c.db", kWrite);
  umask(before);
  ASSERT_TRUE(catalog);
  ASSERT_TRUE((*catalog)->put_file(test::file_row("/a")));
  EXPECT_EQ(fs::status(folder / "x").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder / "x/y").permissions(), fs::perms::owner_all);
  for (const char* name : {"x/y/c.db", "x/y/c.db-wal", "x/y/c.db-shm"}) {
    EXPECT_EQ(fs::status(folder / name).permissions(), fs::perms::owner_read | fs::perms::owner_write)
        << name;
  }
}

TEST(CatalogLocation, ReadingCreatesNoFolder) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(open_catalog(folder / "x/c.db", kRead).value(), nullptr);
  EXPECT_FALSE(fs::exists(folder / "x"));
}

TEST(CatalogLocation, OwnLinksAreFollowed) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink("real", folder / "one");
  fs::create_symlink("../real/../one/target.db", folder / "real/link.db");
  EXPECT_EQ(resolve_links(folder / "one/./../one/link.db").value(), folder / "real/target.db");
  const auto catalog = open_catalog(folder / "one/link.db", kWrite);
  ASSERT_TRUE(catalog) << catalog.error().text();
  EXPECT_TRUE(fs::is_regular_file(folder / "real/target.db"));
  EXPECT_TRUE(fs::is_symlink(folder / "real/link.db"));
}

TEST(CatalogLocation, LoopsEnd) {
  const test::TemporaryFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  EXPECT_EQ(resolve_links(folder / "a").error().number, ELOOP);
}

TEST(CatalogLocation, LinksOfOthersAreNotFollowed) {
  if (!has_rights_of_root()) {
    GTEST_SKIP() << "only root can make a link of another user";
  }
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink(folder / "real", folder / "planted");
  fs::create_symlink(folder / "real/victim", folder / "c.db");
  ASSERT_EQ(lchown((folder / "planted").c_str(), 12345, 12345), 0);
  ASSERT_EQ(lchown((folder / "c.db").c_str(), 12345, 12345), 0);
  for (const std::string& path : {folder / "planted/c.db", folder / "c.db"}) {
    const auto catalog = open_catalog(path, kWrite);
    ASSERT_FALSE(catalog);
    EXPECT_EQ(catalog.error().number, EPERM);
    EXPECT_NE(catalog.error().text().find("12345"), std::string::npos) << catalog.error().text();
  }
  EXPECT_TRUE(fs::is_empty(folder / "real"));
}

TEST(CatalogLocation, ALinkThatTurnsUpAfterTheCheckIsNotFollowed) {
  const test::TemporaryFolder folder;
  test::open(folder / "real.db").reset();
  fs::create_symlink("real.db", folder / "c.db");
  EXPECT_NE(test::open_error(folder / "c.db", kWrite).find("symbolic link"), std::string::npos);
  fs::create_symlink("elsewhere", folder / "new.db");
  EXPECT_NE(test::open_error(folder / "new.db", kWrite), "");
  EXPECT_FALSE(fs::exists(folder / "elsewhere"));
}

TEST(CatalogLocation, OddPathsAreJustPaths) {
  const test::TemporaryFolder folder;
  for (const std::string& name : {std::string("a b\n\xff?%23#.db"), std::string(":memory:"),
                                  std::string("file:x?mode=ro"), std::string(200, 'n')}) {
    const auto catalog = open_catalog(folder / name, kWrite);
    ASSERT_TRUE(catalog) << catalog.error().text();
    EXPECT_TRUE((*catalog)->put_file(test::file_row("/a")));
    EXPECT_TRUE(fs::exists(folder / name));
  }
}

TEST(CatalogLocation, RelativePathsStartAtTheCurrentFolder) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(test::in_child([&] {
              EXPECT_EQ(chdir(folder.path().c_str()), 0);
              EXPECT_TRUE(open_catalog("sub/c.db", kWrite));
              return 0;
            }),
            0);
  EXPECT_TRUE(fs::exists(folder / "sub/c.db"));
}

TEST(CatalogLocation, BadPathsAreNamed) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "file", "x");
  EXPECT_EQ(open_catalog(folder / "file/c.db", kWrite).error().number, ENOTDIR);
  EXPECT_EQ(open_catalog(folder / "file/c.db", kRead).error().number, ENOTDIR);
  fs::create_directory(folder / "a folder");
  EXPECT_EQ(open_catalog(folder / "a folder", kWrite).error().number, EISDIR);
  EXPECT_EQ(open_catalog(folder / "a folder", kRead).error().number, EISDIR);
  EXPECT_EQ(open_catalog("/", kWrite).error().number, EISDIR);
  EXPECT_EQ(open_catalog("/dev/null", kRead).error().number, EINVAL);
  EXPECT_TRUE(open_catalog(std::string("/tmp/a\0b", 8), kRead).error().usage);
  std::string deep = folder.path();
  for (int i = 0; i < 5; ++i) {
    deep += "/" + std::string(120, 'd');
  }
  EXPECT_EQ(open_catalog(deep + "/c.db", kWrite).error().number, ENAMETOOLONG);
}

TEST(CatalogLocation, FoldersThatCannotBeMade) {
  const test::TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  const int status = test::in_child([&] {
    test::drop_root();
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec, test::ignored());
    const auto catalog = open_catalog(folder / "x/c.db", kWrite);
    EXPECT_FALSE(catalog);
    if (!catalog) {
      EXPECT_EQ(catalog.error().number, EACCES);
      EXPECT_NE(catalog.error().text().find(folder / "x"), std::string::npos) << catalog.error().text();
      EXPECT_NE(catalog.error().text().find("SLUICE_CATALOG"), std::string::npos);
    }
    EXPECT_EQ(open_catalog(folder / "x/c.db", kRead).value(), nullptr);
    return 0;
  });
  fs::permissions(folder.path(), fs::perms::owner_all);
  EXPECT_EQ(status, 0);
}

// Each of our own system calls fails once; the next attempt is as if nothing had been.
TEST(CatalogLocation, EverySystemCallMayFail) {
  for (const int number : {EIO, EACCES}) {
    std::size_t calls = 1;
    for (std::size_t n = 0; n <= calls; ++n) {
      const test::TemporaryFolder folder;
      {
        const FailNth failing(n, number);
        const auto catalog = open_catalog(folder / "x/c.db", kWrite);
        if (n == 0) {
          ASSERT_TRUE(catalog);
          calls = failing.calls();
        } else if (!catalog) {
          EXPECT_NE(catalog.error().number, 0) << catalog.error().text();
        }
      }
      const auto catalog = open_catalog(folder / "x/c.db", kWrite);
      ASSERT_TRUE(catalog) << catalog.error().text();
      EXPECT_TRUE((*catalog)->put_file(test::file_row("/a")));
    }
    EXPECT_GT(calls, 5U);
  }
}

}  // namespace
}  // namespace sluice
