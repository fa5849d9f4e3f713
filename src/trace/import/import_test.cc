#include "trace/import/import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "trace/import/strace_line.h"
#include "trace/reader.h"
#include "trace/text.h"

namespace sluice {
namespace {

class Import : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sluice-import-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Imported> import(const std::string& text, std::string_view format = "auto") {
    std::filesystem::remove(folder_ + "/out");
    std::ofstream(folder_ + "/in", std::ios::binary) << text;
    return import_trace(folder_ + "/in", format, "/start", folder_ + "/out");
  }

  // "process/thread operation path length@offset=result", by time.
  std::vector<std::string> events() {
    auto reader = TraceReader::open(folder_ + "/out");
    EXPECT_TRUE(reader) << reader.error().text();
    EXPECT_EQ(reader->trouble(), "");
    about_ = reader->about();
    std::vector<std::string> out;
    TraceFiles files;
    TraceEvent event;
    while (reader->next(event).value()) {
      out.push_back(fmt::format("{}/{} {} {} {}@{}={}", event.process, event.thread,
                                operation_name(event.operation), files.path_of(*reader, event), event.length,
                                event.offset, event.result));
      all_.push_back(event);
      if (event.other != 0) {
        others_.push_back(reader->path(event.other));
      }
    }
    return out;
  }

  std::string folder_;
  Json about_;
  std::vector<TraceEvent> all_;
  std::vector<std::string> others_;
};

using Lines = std::vector<std::string>;

TEST_F(Import, StraceFollowsDescriptors) {
  const auto done = import(
      R"(10    12:00:00.000000 execve("./prog", ["./prog"], 0x7ffd /* 3 vars */) = 0 <0.000100>
10    12:00:00.000200 openat(AT_FDCWD, "a \"b\"\n", O_RDWR|O_CREAT|O_TRUNC|O_CLOEXEC, 0640) = 3 <0.000010>
10    12:00:00.000300 write(3, "x, y) = 3"..., 4096) = 100 <0.000020>
10    12:00:00.000400 pread64(3, "", 10, 70000000000) = 0 <0.000001>
10    12:00:00.000500 dup(3) = 4 <0.000001>
10    12:00:00.000600 close(3) = 0 <0.000001>
10    12:00:00.000700 lseek(4, -5, SEEK_END) = 95 <0.000001>
10    12:00:00.000800 writev(4, [{iov_base="a", iov_len=1}, {iov_base="b", iov_len=1}], 2) = 2 <0.000001>
10    12:00:00.000900 fdatasync(4) = 0 <0.5>
10    12:00:00.001000 fallocate(4, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 4096, 8192) = 0 <0.000001>
10    12:00:00.001100 fadvise64(4, 0, 0, POSIX_FADV_RANDOM) = 0 <0.000001>
10    12:00:00.001200 ftruncate(4, 7) = 0 <0.000001>
10    12:00:00.001300 fcntl(4, F_DUPFD_CLOEXEC, 10) = 10 <0.000001>
10    12:00:00.001400 close(4) = 0 <0.000001>
10    12:00:00.001500 read(10, 0x7ffd, 5) = -1 EISDIR (Is a directory) <0.000001>
10    12:00:00.001600 close(10) = 0 <0.000001>
10    12:00:00.001700 read(10, 0x7ffd, 5) = -1 EBADF (Bad file descriptor) <0.000001>
10    12:00:00.001800 openat(AT_FDCWD, "missing", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000001>
10    12:00:00.001900 +++ exited with 0 +++
)");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->format, "strace");
  EXPECT_EQ(done->unreadable, 0U);
  const std::string file = "/start/a \"b\"\n";
  EXPECT_EQ(events(), (Lines{"10/10 started /start/prog 0@0=0", "10/10 open " + file + " 0@0=3",
                             "10/10 write " + file + " 4096@-1=100",
                             "10/10 read " + file + " 10@70000000000=0", "10/10 seek " + file + " 0@-5=95",
                             "10/10 write " + file + " 2@-1=2", "10/10 sync " + file + " 0@0=0",
                             "10/10 allocate " + file + " 8192@4096=0", "10/10 advise " + file + " 0@0=0",
                             "10/10 truncate " + file + " 7@0=0", "10/10 read " + file + " 5@-1=-21",
                             "10/10 close " + file + " 0@0=0", "10/10 open /start/missing 0@0=-2"}));
  EXPECT_EQ(all_[1].begin, 200'000);
  EXPECT_EQ(all_[1].duration, 10'000);
  EXPECT_EQ(all_[1].flags, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC);
  EXPECT_EQ(all_[1].mode, 0640U);
  EXPECT_EQ(all_[4].flags, SEEK_END);
  EXPECT_EQ(all_[6].flags, 1);
  EXPECT_EQ(all_[6].duration, 500'000'000);
  EXPECT_EQ(all_[7].flags, 3);
  EXPECT_EQ(all_[8].flags, POSIX_FADV_RANDOM);
  EXPECT_EQ(about_["imported"], "strace");
}

TEST_F(Import, StraceFollowsProcessesAndThreads) {
  // A thread shares the descriptors, a child inherits them; exec closes what it should. Calls are broken off
  // and resumed, and a child is seen before its parent knows its number.
  const auto done = import(
      R"(1 100000000.000000 openat(AT_FDCWD, "f", O_WRONLY) = 3
1 100000000.000100 openat(AT_FDCWD, "g", O_WRONLY|O_CLOEXEC) = 4
1 100000000.000200 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, child_tid=0x7f} => {parent_tid=[2]}, 88) = 2
2 100000000.000300 write(3, "a",  <unfinished ...>
1 100000000.000400 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>
3 100000000.000500 write(4, "bb", 2) = 2
1 100000000.000600 <... clone resumed>, child_tidptr=0x7f) = 3
2 100000000.000700 <... write resumed>1) = 1
2 100000000.000800 close(3) = 0
1 100000000.000900 write(3, "x", 1) = -1 EBADF (Bad file descriptor)
3 100000000.001000 execve("/bin/other", ["other"], 0x1 /* 2 vars */) = 0
3 100000000.001100 write(4, "cc", 2) = -1 EBADF (Bad file descriptor)
3 100000000.001200 write(3, "ccc", 3) = 3
3 100000000.001300 <... futex resumed>) = 0
3 100000000.001400 +++ killed by SIGKILL +++
)");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->unreadable, 0U);
  EXPECT_EQ(events(),
            (Lines{"1/1 open /start/f 0@0=3", "1/1 open /start/g 0@0=4", "1/2 write /start/f 1@-1=1",
                   "3/3 started  0@0=1", "3/3 write /start/g 2@-1=2", "1/2 close /start/f 0@0=0",
                   "3/3 close /start/g 0@0=0", "3/3 started /bin/other 0@0=1", "3/3 write /start/f 3@-1=3"}));
  EXPECT_EQ(all_[2].begin, 300'000);
  EXPECT_EQ(all_[2].duration, 400'000);  // without -T
}

TEST_F(Import, StraceOnATerminalNamesNobodyAtFirst) {
  const auto done = import(
      "00:00:00.000000 openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n"
      "00:00:00.000001 clone(child_stack=NULL, flags=SIGCHLDstrace: Process 7 attached\n"
      ", child_tidptr=0x7f) = 7\n"
      "[pid     7] 00:00:00.000002 read(3, \"\", 10) = 0\n"
      "[pid     6] 00:00:00.000003 read(3, \"\", 11) = 0\n"
      "[pid     7] 00:00:00.000004 +++ exited with 0 +++\n"
      "23:59:59.000000 read(3, \"\", 12) = 0\n"
      "00:00:01.000000 read(3, \"\", 13) = 0\n");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->unreadable, 0U);
  EXPECT_EQ(events(),
            (Lines{"1/1 open /start/f 0@0=3", "7/7 started  0@0=1", "7/7 read /start/f 10@-1=0",
                   "1/1 read /start/f 11@-1=0", "1/1 read /start/f 12@-1=0", "1/1 read /start/f 13@-1=0"}));
  EXPECT_EQ(all_[5].begin - all_[4].begin, 2'000'000'000);
}

TEST_F(Import, StraceNames) {
  const auto done = import(
      R"(1 12:00:00.000000 mkdir("d", 0755) = 0 <0.000010>
1 12:00:00.000001 openat(AT_FDCWD, "d", O_RDONLY|O_DIRECTORY) = 3 <0.000010>
1 12:00:00.000002 renameat2(AT_FDCWD, "a", 3, "b", RENAME_NOREPLACE) = 0 <0.000010>
1 12:00:00.000003 rename("/x", "y") = -1 ENOENT (No such file or directory) <0.000010>
1 12:00:00.000004 linkat(3, "b", AT_FDCWD</start>, "c", 0) = 0 <0.000010>
1 12:00:00.000005 link("c", "e") = 0 <0.000010>
1 12:00:00.000006 fsync(3) = 0 <0.5>
1 12:00:00.000007 fdatasync(3) = 0 <0.000010>
1 12:00:00.000008 unlinkat(3, "b", 0) = 0 <0.000010>
1 12:00:00.000009 unlink("c") = 0 <0.000010>
1 12:00:00.000010 unlinkat(AT_FDCWD, "d", AT_REMOVEDIR) = 0 <0.000010>
1 12:00:00.000011 rmdir("g") = 0 <0.000010>
1 12:00:00.000012 mkdirat(AT_FDCWD, "h", 0755) = 0 <0.000010>
1 12:00:00.000013 unlink("/proc/1/none") = 0 <0.000010>
1 12:00:00.000013 unlinkat(7, "nobody-knows-where", 0) = 0 <0.000010>
1 12:00:00.000013 openat(AT_FDCWD, "/start", O_RDONLY|O_CLOEXEC) = 9 <0.000010>
1 12:00:00.000013 fsync(9) = 0 <0.000010>
1 12:00:00.000014 unlink(0x7ffd) = -1 EFAULT (Bad address) <0.000010>
)");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->unreadable, 0U);
  EXPECT_EQ(events(),
            (Lines{"1/1 mkdir /start/d 0@0=0", "1/1 rename /start/a 0@0=0", "1/1 rename /x 0@0=-2",
                   "1/1 link /start/d/b 0@0=0", "1/1 link /start/c 0@0=0", "1/1 syncdir /start/d 0@0=0",
                   "1/1 syncdir /start/d 0@0=0", "1/1 remove /start/d/b 0@0=0", "1/1 remove /start/c 0@0=0",
                   "1/1 remove /start/d 0@0=0", "1/1 remove /start/g 0@0=0", "1/1 mkdir /start/h 0@0=0",
                   "1/1 open /start 0@0=9", "1/1 syncdir /start 0@0=0"}));
  EXPECT_EQ(all_[1].flags, 1);
  EXPECT_EQ(others_, (Lines{"/start/d/b", "/start/y", "/start/c", "/start/e"}));
  EXPECT_EQ(all_[5].duration, 500'000'000);
  EXPECT_EQ(all_[6].flags, 1);
  EXPECT_EQ(all_[7].flags, 0);
  EXPECT_EQ(all_[9].flags, AT_REMOVEDIR);
  EXPECT_EQ(all_[10].flags, AT_REMOVEDIR);
}

// Two threads came up while a call of a third was printed.
TEST_F(Import, StraceBreaksALineTwice) {
  const auto done = import(
      "[pid     6] 00:00:00.000000 openat(AT_FDCWD, \"f\", O_RDWR) = 3\n"
      "[pid     6] 00:00:00.000001 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD}) = 7\n"
      "[pid     6] 00:00:00.000002 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD} <unfinished ...>\n"
      "[pid     7] 00:00:00.000003 pwrite64(3, \"x\", 10, 240strace: Process 9 attached\n"
      "strace: Process 8 attached\n"
      " <unfinished ...>\n"
      "[pid     6] 00:00:00.000004 <... clone3 resumed>) = 9\n"
      "[pid     7] 00:00:00.000005 <... pwrite64 resumed>) = 10\n"
      "[pid     9] 00:00:00.000006 pwrite64(3, \"x\", 1, 2) = 1\n");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->unreadable, 0U);
  EXPECT_EQ(events(),
            (Lines{"6/6 open /start/f 0@0=3", "6/7 write /start/f 10@240=10", "6/9 write /start/f 1@2=1"}));
}

TEST_F(Import, StraceWithAClockThatGoesBack) {
  const auto done = import(
      "1 1700000000.000000 openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n"
      "1 1600000000.000000 read(3,  <unfinished ...>\n"
      "1 1500000000.000000 <... read resumed>\"\", 10) = 0\n"
      "1 99999999.0 read(3, \"\", 10) = 0\n"
      "1 4294967295.999999 read(3, \"\", 10) = 0\n"
      "1 99999999.0 read(3, \"\", 10) = 0\n");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(events().size(), 5U);
  for (const TraceEvent& event : all_) {
    EXPECT_GE(event.begin, 0);
    EXPECT_GE(event.duration, 0);
  }
}

TEST_F(Import, StraceSaysWhatDescriptorsAre) {
  const auto done = import(
      R"(5 12:00:00.000000 write(1</data/o,(ut>, "x", 1) = 1 <0.000001>
5 12:00:00.000001 write(2</dev/pts/0<char 136:0>>, "x", 1) = 1 <0.000001>
5 12:00:00.000002 write(3<TCP:[127.0.0.1:1->127.0.0.1:2]>, "x", 1) = 1 <0.000001>
5 12:00:00.000003 openat(AT_FDCWD</somewhere>, "f", O_RDONLY) = 4</somewhere/f> <0.000001>
5 12:00:00.000004 openat(7</folder>, "h", O_RDONLY) = 5</folder/h> <0.000001>
5 12:00:00.000005 chdir("sub") = 0
5 12:00:00.000006 openat(AT_FDCWD, "../i", O_RDONLY) = 6 <0.000001>
5 12:00:00.000007 openat(AT_FDCWD, "/dev/null", O_RDONLY) = 8 <0.000001>
5 12:00:00.000008 read(8, "", 9) = 0 <0.000001>
5 12:00:00.000009 openat(AT_FDCWD, "folder", O_RDONLY|O_DIRECTORY) = 9 <0.000001>
5 12:00:00.000010 openat(9, "inside", O_RDONLY) = 10 <0.000001>
5 12:00:00.000011 sendfile(1</data/o,(ut>, 4</somewhere/f>, [8] => [12], 100) = 4 <0.000001>
5 12:00:00.000012 copy_file_range(4</somewhere/f>, NULL, 1</data/o,(ut>, [3], 9223372035781033984, 0) = 6 <0.1>
5 12:00:00.000013 read(4</somewhere/f>, 0x1, 7) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)
)");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->unreadable, 0U);
  EXPECT_EQ(events(), (Lines{"5/5 open /data/o,(ut 0@0=1", "5/5 write /data/o,(ut 1@-1=1",
                             "5/5 open /somewhere/f 0@0=4", "5/5 open /folder/h 0@0=5",
                             "5/5 open /start/i 0@0=6", "5/5 open /start/sub/folder/inside 0@0=10",
                             "5/5 read /somewhere/f 4@8=4", "5/5 write /data/o,(ut 4@-1=4",
                             "5/5 read /somewhere/f 6@-1=6", "5/5 write /data/o,(ut 6@3=6"}));
  EXPECT_EQ(all_[0].flags, TraceEvent::was_open);
}

TEST_F(Import, DarshanSegments) {
  // Writes are listed before reads, and file after file: time decides.
  const auto done = import(R"(# darshan log version: 3.41
# exe: /home/me/ior -a POSIX
# nprocs: 2
# start_time: 1700000000

# DXT, file_id: 11, file_name: /scratch/my file
# DXT, rank: 0, hostname: n1
# DXT, write_count: 2, read_count: 1
# DXT, mnt_pt: /scratch, fs_type: lustre
# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)  [OST]
 X_POSIX       0  write        0               0         1048576      0.5000      0.7000  [  3]
 X_POSIX       0  write        1         2097152         1048576      2.0000      2.1000
 X_POSIX       0   read        0               0             100      1.0000      1.0001

# DXT, file_id: 12, file_name: /scratch/other
# DXT, rank: 1, hostname: n2
 X_POSIX       1   read        0              50             100      0.1000      0.2000
 X_MPIIO       1   read        0              50             100      0.1000      0.2000
 X_POSIX       1   read        0              50             100      0.1000
)");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->format, "darshan");
  EXPECT_EQ(done->unreadable, 1U);
  EXPECT_EQ(done->first_unreadable, 19U);
  EXPECT_EQ(events(),
            (Lines{"2/2 open /scratch/other 0@0=0", "2/2 read /scratch/other 100@50=100",
                   "1/1 open /scratch/my file 0@0=0", "1/1 write /scratch/my file 1048576@0=1048576",
                   "1/1 open /scratch/my file 0@0=0", "1/1 read /scratch/my file 100@0=100",
                   "1/1 write /scratch/my file 1048576@2097152=1048576"}));
  EXPECT_EQ(all_[3].begin, 500'000'000);
  EXPECT_EQ(all_[3].duration, 200'000'000);
  EXPECT_EQ(about_["command"], (Json{"/home/me/ior", "-a", "POSIX"}));
  EXPECT_EQ(about_["time"], 1'700'000'000);
}

std::string counters(std::string_view rank, const std::vector<std::pair<std::string, std::string>>& all) {
  std::string out;
  for (const auto& [name, value] : all) {
    out += fmt::format("POSIX\t{}\t77\tPOSIX_{}\t{}\t/data/shared\t/data\text4\n", rank, name, value);
  }
  return out;
}

TEST_F(Import, DarshanCountersBecomeCallsThatCountTheSame) {
  const auto done = import("# darshan log version: 3.41\n# nprocs: 2\n" +
                           counters("-1", {{"OPENS", "2"},
                                           {"READS", "0"},
                                           {"WRITES", "10"},
                                           {"CONSEC_WRITES", "9"},
                                           {"BYTES_WRITTEN", "1003"},
                                           {"MAX_BYTE_WRITTEN", "1002"},
                                           {"FSYNCS", "1"},
                                           {"F_WRITE_START_TIMESTAMP", "1.5"},
                                           {"F_WRITE_END_TIMESTAMP", "2.5"},
                                           {"F_WRITE_TIME", "0.5"}}) +
                           "MPI-IO\t-1\t77\tMPIIO_INDEP_OPENS\t2\t/data/shared\t/data\text4\n"
                           "POSIX\t0\t7\tPOSIX\t2\t/data/shared\t/data\text4\nnonsense\n");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->unreadable, 1U);
  EXPECT_NE(done->warning.find("counters"), std::string::npos);
  events();
  std::map<std::uint32_t, int> calls;
  std::int64_t bytes = 0;
  std::int64_t time = 0;
  int syncs = 0;
  for (const TraceEvent& event : all_) {
    if (event.operation == TraceEvent::write) {
      ++calls[event.process];
      bytes += event.result;
      time += event.duration;
      EXPECT_GE(event.begin, 1'500'000'000);
      EXPECT_LE(event.begin, 2'500'000'000);
    }
    syncs += event.operation == TraceEvent::sync ? 1 : 0;
  }
  EXPECT_EQ(calls, (std::map<std::uint32_t, int>{{1, 5}, {2, 5}}));
  EXPECT_EQ(bytes, 1003);
  EXPECT_EQ(time, 500'000'000);
  EXPECT_EQ(syncs, 1);
  EXPECT_EQ(about_["counters"], true);
}

TEST_F(Import, DarshanCountersWithoutSense) {
  for (const char* value : {"nan", "-5", "1e300", "inf", "9223372036854775807"}) {
    const auto done =
        import("# darshan log version: 3.41\n" +
               counters("0", {{"READS", "3"}, {"BYTES_READ", value}, {"MAX_BYTE_READ", value}}));
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(events().size(), 4U);
  }
}

TEST_F(Import, Dftracer) {
  const auto done = import(R"([
{"id":1,"name":"FH","cat":"dftracer","pid":9,"tid":9,"ph":"M","args":{"name":"/data/in","value":"abc"}}
{"id":2,"name":"open64","cat":"POSIX","pid":9,"tid":10,"ts":1000000,"dur":5,"ph":"X","args":{"hhash":"h","fhash":"abc","flags":577,"mode":"420","ret":3}}
{"id":3,"name":"pread","cat":"POSIX","pid":9,"tid":10,"ts":1000010,"dur":7,"ph":"X","args":{"fhash":"abc","fd":3,"count":4096,"offset":8192,"ret":100}},
{"id":4,"name":"lseek64","cat":"POSIX","pid":9,"tid":10,"ts":1000020,"dur":1,"ph":"X","args":{"fhash":"abc","offset":10,"whence":0,"ret":10}}
{"id":5,"name":"close","cat":"POSIX","pid":9,"tid":10,"ts":1000030,"dur":1,"ph":"X","args":{"fhash":"abc","ret":0}}
{"id":6,"name":"fwrite","cat":"STDIO","pid":9,"tid":10,"ts":1000040,"dur":1,"ph":"X","args":{"fname":"/data/out","size":8,"nmemb":16}}
{"id":7,"name":"write","cat":"POSIX","pid":9,"tid":10,"ts":1000050,"dur":1,"ph":"X","args":{"fname":"/data/out","count":5,"ret":-1}}
{"id":8,"name":"train","cat":"COMPUTE","pid":9,"tid":10,"ts":1000060,"dur":1,"ph":"X","args":{}}
{"id":9,"name":"read","cat":"POSIX","pid":9,"tid":10,"ts":1000070,"dur":1,"ph":"X","args":{"fhash":"unknown"}}
{"id":10,"name":"read","cat":"POSIX","pid":9,
]
)");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->format, "dftracer");
  EXPECT_EQ(done->unreadable, 1U);
  EXPECT_EQ(done->first_unreadable, 11U);
  EXPECT_NE(done->warning.find("1 calls"), std::string::npos);
  EXPECT_EQ(events(),
            (Lines{"9/10 open /data/in 0@0=3", "9/10 read /data/in 4096@8192=100",
                   "9/10 seek /data/in 0@10=10", "9/10 close /data/in 0@0=0", "9/10 open /data/out 0@0=0",
                   "9/10 write /data/out 128@-1=128", "9/10 write /data/out 5@-1=-5"}));
  EXPECT_EQ(all_[0].flags, 577);
  EXPECT_EQ(all_[0].mode, 0644U);
  EXPECT_EQ(all_[1].begin, 10'000);
  EXPECT_EQ(all_[1].duration, 7'000);
}

TEST_F(Import, WhatIsNoneOfTheseIsRefused) {
  for (const char* text : {"", "\n", "hello\nworld\n", "{}\n", "\x1f\x8b\x08 binary", "SLUICETR\1",
                           "openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n"}) {
    const auto done = import(text);
    ASSERT_FALSE(done) << text;
    EXPECT_TRUE(done.error().usage);
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/out"));
  }
  for (const char* format : {"strace", "darshan", "dftracer"}) {
    ASSERT_FALSE(import("hello\nworld\n", format));
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/out"));
  }
}

TEST_F(Import, WhatIsThereStays) {
  ASSERT_TRUE(import("1 12:00:00.0 openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n"));
  const std::string before = read_file(folder_ + "/out").value();
  const auto done = import_trace(folder_ + "/in", "auto", "/", folder_ + "/out");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().number, EEXIST);
  EXPECT_EQ(read_file(folder_ + "/out").value(), before);
}

TEST_F(Import, EveryCallThatFails) {
  const std::string text =
      "# darshan log version: 3\n" + counters("0", {{"READS", "3"}, {"BYTES_READ", "30"}});
  ASSERT_TRUE(import(text));
  std::size_t calls = 0;
  std::filesystem::remove(folder_ + "/out");
  {
    const FailNth none(0, 0);
    ASSERT_TRUE(import_trace(folder_ + "/in", "auto", "/", folder_ + "/out"));
    calls = none.calls();
  }
  for (std::size_t n = 1; n <= calls; ++n) {
    std::filesystem::remove(folder_ + "/out");
    bool good = false;
    {
      const FailNth fails(n, ENOSPC);
      good = import_trace(folder_ + "/in", "auto", "/", folder_ + "/out").has_value();
    }
    if (good) {
      EXPECT_FALSE(events().empty()) << n;
    }
    // Where nothing but taking the unsorted one away failed, that stays.
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      EXPECT_TRUE(good || entry.path().filename() == "in") << entry << n;
      if (entry.path().filename() != "in") {
        std::filesystem::remove(entry);
      }
    }
  }
}

TEST_F(Import, LongLinesAreCutAndTheNextIsRead) {
  const std::string open = "1 12:00:00.0 openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n";
  const auto done = import(open + "1 12:00:00.1 read(3, \"" + std::string(9 << 20, 'x') +
                           "\", 9437184) = 9437184\n" + "1 12:00:00.2 read(3, \"\", 5) = 0");
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(done->lines, 3U);
  EXPECT_EQ(done->unreadable, 1U);
  EXPECT_EQ(done->events, 2U);
}

TEST(StraceLine, Numbers) {
  EXPECT_EQ(parse_strace_number("0644"), 0644);
  EXPECT_EQ(parse_strace_number("0x1F"), 31);
  EXPECT_EQ(parse_strace_number("-3"), -3);
  EXPECT_EQ(parse_strace_number("18446744073709551615"), -1);
  EXPECT_EQ(parse_strace_number(""), std::nullopt);
  EXPECT_EQ(parse_strace_number("3x"), std::nullopt);
  EXPECT_EQ(parse_strace_string(R"("\303\244\x41\\\t")"),
            "\xc3\xa4"
            "A\\\t");
  EXPECT_EQ(parse_strace_string(R"("cut"...)"), std::nullopt);
}

}  // namespace
}  // namespace sluice
