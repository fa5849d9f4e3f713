/* A stage that keeps files unreadable to those who go around it: every byte is changed on its way to the file
 * and changed back on its way to the program.
 *
 *   cc -shared -fPIC -o xor.so xor.c        (with -I to where sluice/stage.h is)
 *   sluice run --stage ./xor.so:key=42 --files '/tmp/secret*' -- cp letter /tmp/secret-letter
 *
 * It shows the parts of a stage: parameters, memory of its own, passing on and changing. */
#include <sluice/stage.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* It may stand in a stack several times, each with a key of its own: nothing of that is static. */
static int start(const char* parameters, void** stage_state, char* error, size_t error_size) {
  unsigned long value = 255;
  char* end = NULL;
  if (*parameters != 0) {
    if (strncmp(parameters, "key=", 4) != 0) {
      snprintf(error, error_size, "xor has one parameter, key=0..255");
      return -1;
    }
    value = strtoul(parameters + 4, &end, 10);
    if (*end != 0 || end == parameters + 4 || value > 255) {
      snprintf(error, error_size, "key must be 0 to 255");
      return -1;
    }
  }
  unsigned char* key = malloc(1);
  if (key == NULL) {
    snprintf(error, error_size, "there is no memory");
    return -1;
  }
  *key = (unsigned char)value;
  *stage_state = key;
  return 0;
}

static int64_t act(void* stage_state, void** file_state, struct sluice_activity* activity,
                   const struct sluice_next* next) {
  const unsigned char key = *(const unsigned char*)stage_state;
  (void)file_state;
  if (activity->operation == SLUICE_READ) {
    const int64_t got = next->act(next, activity);
    for (int64_t i = 0; i < got; ++i) {
      ((unsigned char*)activity->data)[i] ^= key;
    }
    return got;
  }
  /* What the program writes is its own: other bytes are passed on, a piece at a time. */
  unsigned char piece[4096];
  struct sluice_activity part = *activity;
  int64_t done = 0;
  while (done < (int64_t)activity->length) {
    const uint64_t left = activity->length - (uint64_t)done;
    part.length = left < sizeof piece ? left : sizeof piece;
    for (uint64_t i = 0; i < part.length; ++i) {
      piece[i] = ((const unsigned char*)activity->data)[done + (int64_t)i] ^ key;
    }
    part.data = piece;
    part.offset = activity->offset == SLUICE_AT_POSITION ? SLUICE_AT_POSITION : activity->offset + done;
    const int64_t moved = next->act(next, &part);
    if (moved < 0) {
      activity->error = part.error;
      return activity->result = done > 0 ? done : -1;
    }
    done += moved;
    if ((uint64_t)moved < part.length) {
      break;
    }
  }
  activity->error = 0;
  return activity->result = done;
}

const struct sluice_stage sluice_stage = {
    .size = sizeof(struct sluice_stage),
    .version = SLUICE_STAGE_VERSION,
    .name = "xor",
    .summary = "every byte is changed on its way to the file and back",
    .scope = "activity",
    .interference = "data",
    .state = "none",
    .semantics = "relaxed",
    .parameters = "key=255 what bytes are changed by",
    .operations = SLUICE_BIT(SLUICE_READ) | SLUICE_BIT(SLUICE_WRITE),
    .aside = 0,
    .start = start,
    .act = act,
};
