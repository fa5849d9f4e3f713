// C++17 over the C interface: an intent that has been checked. Header only, so that the library's C interface
// is the only thing programs are bound to.
#pragma once

#include <stdexcept>
#include <string>

#include "sluice/sluice.h"

namespace sluice {

class IntentError : public std::invalid_argument {
 public:
  explicit IntentError(const sluice_failure& why) : std::invalid_argument(why.message), column_(why.column) {}
  [[nodiscard]] unsigned column() const { return column_; }

 private:
  unsigned column_;
};

class CheckedIntent {
 public:
  // Throws IntentError when the words are wrong.
  explicit CheckedIntent(const std::string& words) {
    sluice_failure why{};
    why.size = sizeof why;
    const int length = sluice_intent_normalize(words.c_str(), nullptr, 0, &why);
    if (length < 0) {
      throw IntentError(why);
    }
    words_.resize(static_cast<std::size_t>(length));
    sluice_intent_normalize(words.c_str(), words_.data(), words_.size() + 1, nullptr);
  }
  // The canonical words.
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  std::string words_;
};

}  // namespace sluice
