// shared_place FOLDER MICROSECONDS MOUNTPOINT [FUSE OPTION...]: a folder as a server shows it that is so far
// away. Each request takes that long, nothing is kept in memory here, and a file has one request at a time,
// as with the locks of many shared file systems.
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* folder;
static int delay;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static const char* there(const char* path) {
  static __thread char out[4096];
  snprintf(out, sizeof out, "%s%s", folder, path);
  return out;
}
static int result(int done) {
  const int number = errno;
  usleep((useconds_t)delay);
  return done < 0 ? -number : done;
}
static int get_attributes(const char* path, struct stat* out, struct fuse_file_info* file) {
  (void)file;
  return result(lstat(there(path), out));
}
static int make(const char* path, mode_t mode, struct fuse_file_info* file) {
  const int fd = open(there(path), file->flags, mode);
  file->fh = (uint64_t)fd;
  file->direct_io = 1;
  return result(fd) < 0 ? -errno : 0;
}
static int open_file(const char* path, struct fuse_file_info* file) {
  return make(path, 0, file);
}
static int release_file(const char* path, struct fuse_file_info* file) {
  (void)path;
  return close((int)file->fh);
}
static int read_file(const char* path, char* data, size_t length, off_t offset, struct fuse_file_info* file) {
  (void)path;
  return result((int)pread((int)file->fh, data, length, offset));
}
static int write_file(const char* path, const char* data, size_t length, off_t offset,
                      struct fuse_file_info* file) {
  (void)path;
  pthread_mutex_lock(&one);
  const int done = result((int)pwrite((int)file->fh, data, length, offset));
  pthread_mutex_unlock(&one);
  return done;
}
static int truncate_file(const char* path, off_t size, struct fuse_file_info* file) {
  return result(file != NULL ? ftruncate((int)file->fh, size) : truncate(there(path), size));
}
static int set_times(const char* path, const struct timespec times[2], struct fuse_file_info* file) {
  (void)file;
  return result(utimensat(AT_FDCWD, there(path), times, AT_SYMLINK_NOFOLLOW));
}
static int remove_file(const char* path) {
  return result(unlink(there(path)));
}
static int sync_file(const char* path, int data, struct fuse_file_info* file) {
  (void)path;
  (void)data;
  return result(fsync((int)file->fh));
}

int main(int count, char** words) {
  const struct fuse_operations operations = {.getattr = get_attributes,
                                             .create = make,
                                             .open = open_file,
                                             .release = release_file,
                                             .read = read_file,
                                             .write = write_file,
                                             .truncate = truncate_file,
                                             .utimens = set_times,
                                             .unlink = remove_file,
                                             .fsync = sync_file};
  if (count < 4) return 2;
  folder = words[1];
  delay = atoi(words[2]);
  words[2] = words[0];
  return fuse_main(count - 2, words + 2, &operations, NULL);
}
