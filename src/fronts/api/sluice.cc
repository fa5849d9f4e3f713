// The C interface, of intents and plans: translate, call, give the error back. Nothing may leave this file by
// exception.
#include "sluice/sluice.h"

#include <cstdlib>
#include <string>

#include "fronts/api/guard.h"
#include "placing/session.h"

namespace {

using sluice::api::guarded;
using sluice::api::intent_of;

}  // namespace

const char* sluice_version() {
  return SLUICE_VERSION;
}

int sluice_intent_normalize(const char* words, char* out, size_t out_size, struct sluice_failure* why) {
  return guarded(why, -1, [&] {
    const auto intent = intent_of(words, why);
    if (!intent) {
      return -1;
    }
    const std::string text = sluice::print(*intent);
    if (out != nullptr) {
      sluice::api::copy_text(out, out_size, text);
    }
    return static_cast<int>(text.size());
  });
}

char* sluice_advise(const char* words, struct sluice_failure* why) {
  return sluice_plan("", words, why);
}

void sluice_free(void* memory) {
  std::free(memory);
}
