/* Three transformations of a grey picture (PGM), each with another pattern of access to its output:
 *
 *   posterize   fewer shades, a chunk after the other                 sequential
 *   divide      even chunks to the upper half, odd ones to the lower  strided
 *   shuffle     each chunk to a place drawn by lot                    random
 *
 * Each chunk is flushed before the next. The pragmas say so of the output; a compiler without Sluice's
 * plug-in passes over them.
 *
 *   image posterize|divide|shuffle INPUT OUTPUT [--chunk SIZE] [--intent global|safe|persist|temp|none]
 *
 * sluice-cc -O2 -o image image.c      (-DCHUNK=16M -DTOTAL=6G for other chunks and pictures) */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef CHUNK
#define CHUNK 512K
#endif
#ifndef TOTAL
#define TOTAL 64M
#endif
#define TEXT(...) #__VA_ARGS__
#define PRAGMA(...) _Pragma(TEXT(__VA_ARGS__))
// clang-format off
#define SIG(...) PRAGMA(sig __VA_ARGS__ size-per-IO(CHUNK) totalsize(TOTAL))
// clang-format on
#define WORD(x) TEXT(x)

#pragma sigdef IN_A_ROW write sequential sync
#pragma sigdef SCATTERED write random sync

static void stop(const char* what, const char* name) {
  fprintf(stderr, "image: %s '%s': %s\n", what, name, strerror(errno));
  exit(1);
}

/* 512, 64K, 16M; 0 where it is none. */
static size_t size_of(const char* text) {
  char* end = NULL;
  const unsigned long long number = strtoull(text, &end, 10);
  const char* units = "KMG";
  const char* unit = *end != 0 ? strchr(units, *end) : NULL;
  if (end == text || (*end != 0 && (unit == NULL || end[1] != 0))) {
    return 0;
  }
  return (size_t)number << (unit == NULL ? 0 : 10 * (unit - units + 1));
}

/* Opens the output as it was declared. The words of each line are for the file that it opens. */
static int open_output(const char* path, int scattered, const char* intent) {
  const int flags = O_RDWR | O_CREAT | O_TRUNC;
  if (strcmp(intent, "none") == 0) {
    return open(path, flags, 0644);
  }
  if (scattered) {
    if (strcmp(intent, "global") == 0) {
      SIG(SCATTERED global persist)
      return open(path, flags, 0644);
    }
    if (strcmp(intent, "safe") == 0) {
      SIG(SCATTERED persist MTTDL(20y))
      return open(path, flags, 0644);
    }
    if (strcmp(intent, "persist") == 0) {
      SIG(SCATTERED persist)
      return open(path, flags, 0644);
    }
    if (strcmp(intent, "temp") == 0) {
      SIG(SCATTERED temp)
      return open(path, flags, 0644);
    }
  } else {
    if (strcmp(intent, "global") == 0) {
      SIG(IN_A_ROW global persist)
      return open(path, flags, 0644);
    }
    if (strcmp(intent, "safe") == 0) {
      SIG(IN_A_ROW persist MTTDL(20y))
      return open(path, flags, 0644);
    }
    if (strcmp(intent, "persist") == 0) {
      SIG(IN_A_ROW persist)
      return open(path, flags, 0644);
    }
    if (strcmp(intent, "temp") == 0) {
      SIG(IN_A_ROW temp)
      return open(path, flags, 0644);
    }
  }
  fprintf(stderr, "image: '%s' is not global, safe, persist, temp or none\n", intent);
  exit(2);
}

/* A number at the picture's head; comments reach to the end of their line. */
static size_t head_number(FILE* in, const char* name) {
  int c = getc(in);
  while (c == '#' || c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    while (c == '#' && (c = getc(in)) != '\n' && c != EOF) {
      c = '#';
    }
    c = getc(in);
  }
  ungetc(c, in);
  size_t out = 0;
  if (fscanf(in, "%zu", &out) != 1) {
    errno = EINVAL;
    stop("not a picture", name);
  }
  return out;
}

/* The order in which chunks are written: a permutation, the same each time. */
static size_t* places_of(size_t count, const char* work) {
  size_t* out = malloc(count * sizeof *out);
  if (out == NULL && count > 0) {
    stop("no memory for", "the order of chunks");
  }
  for (size_t i = 0; i < count; ++i) {
    out[i] = work[0] == 'd' ? i / 2 + (i % 2) * ((count + 1) / 2) : i;
  }
  uint64_t random = 42;
  for (size_t i = count; work[0] == 's' && i > 1; --i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t other = (size_t)((random >> 33) % i);
    const size_t kept = out[i - 1];
    out[i - 1] = out[other];
    out[other] = kept;
  }
  return out;
}

int main(int count, char** words) {
  const char* work = count > 3 ? words[1] : "";
  const char* intent = "none";
  const char* chunk_text = WORD(CHUNK);
  for (int i = 4; i + 1 < count; i += 2) {
    if (strcmp(words[i], "--chunk") == 0) {
      chunk_text = words[i + 1];
    } else if (strcmp(words[i], "--intent") == 0) {
      intent = words[i + 1];
    } else {
      work = "";
    }
  }
  const size_t chunk = size_of(chunk_text);
  if ((strcmp(work, "posterize") != 0 && strcmp(work, "divide") != 0 && strcmp(work, "shuffle") != 0) ||
      chunk == 0 || count % 2 != 0) {
    fprintf(stderr,
            "usage: image posterize|divide|shuffle INPUT OUTPUT [--chunk SIZE] "
            "[--intent global|safe|persist|temp|none]\n");
    return 2;
  }
  FILE* in = fopen(words[2], "rb");
  if (in == NULL) {
    stop("cannot read", words[2]);
  }
  if (getc(in) != 'P' || getc(in) != '5') {
    errno = EINVAL;
    stop("not a picture (PGM, P5)", words[2]);
  }
  const size_t width = head_number(in, words[2]);
  const size_t height = head_number(in, words[2]);
  const size_t shades = head_number(in, words[2]);
  getc(in);
  const size_t total = width * height;
  char head[64];
  const int head_length = snprintf(head, sizeof head, "P5\n%zu %zu\n%zu\n", width, height, shades);

  const int out = open_output(words[3], work[0] != 'p', intent);
  if (out < 0 || pwrite(out, head, (size_t)head_length, 0) != head_length) {
    stop("cannot write", words[3]);
  }
  unsigned char* pixels = malloc(chunk);
  const size_t chunks = total / chunk; /* what is left over stays where it is, at the end */
  size_t* places = places_of(chunks, work);
  if (pixels == NULL) {
    stop("no memory for", chunk_text);
  }
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (size_t i = 0; i * chunk < total; ++i) {
    const size_t length = i < chunks ? chunk : total - i * chunk;
    if (fread(pixels, 1, length, in) != length) {
      errno = EINVAL;
      stop("the picture ends too early", words[2]);
    }
    for (size_t k = 0; work[0] == 'p' && k < length; ++k) {
      pixels[k] &= 0xc0;
    }
    const size_t at = (size_t)head_length + (i < chunks ? places[i] : i) * chunk;
    for (size_t done = 0; done < length;) {
      const ssize_t moved = pwrite(out, pixels + done, length - done, (off_t)(at + done));
      if (moved <= 0) {
        stop("cannot write", words[3]);
      }
      done += (size_t)moved;
    }
    if (fdatasync(out) != 0) {
      stop("cannot flush", words[3]);
    }
  }
  if (close(out) != 0) {
    stop("cannot write", words[3]);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.6f\n", (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
  free(places);
  free(pixels);
  fclose(in);
  return 0;
}
