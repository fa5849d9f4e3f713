// Printing then parsing gives the same intent, for random intents; and every prefix and mutation of an
// intent's text is either an intent or a fault whose column lies in the text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "base/files.h"
#include "base/text.h"
#include "intent/parse.h"

namespace sluice {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Intent intent() {
    Intent out;
    const std::size_t dimensions = 1 + random_() % 4;
    for (const WordInfo& info : vocabulary()) {
      if (random_() % 3 == 0) {
        Word word = make(info, dimensions);
        if (!out.at(info.slot) && out.contradiction(word) == nullptr) {
          out.set(std::move(word));
        }
      }
    }
    return out;
  }

  std::string mutate(std::string text) {
    constexpr std::string_view pieces[] = {"(", ")", ",", "=",  " ",    "0",    "9",
                                           "K", "y", "-", "\n", "\xff", "sig ", "*"};
    for (std::size_t i = 0; i <= random_() % 3; ++i) {
      const std::size_t at = text.empty() ? 0 : random_() % text.size();
      switch (random_() % 3) {
        case 0:
          text.insert(at, pieces[random_() % std::size(pieces)]);
          break;
        case 1:
          text.erase(at, 1 + random_() % 3);
          break;
        default:
          text.resize(at);
      }
    }
    return text;
  }

 private:
  Word make(const WordInfo& info, std::size_t dimensions) {
    Word out{.info = &info, .arguments = {}};
    if (info.repeats) {
      for (std::size_t i = 0; i < dimensions; ++i) {
        out.arguments.push_back(argument(info.parameters[0]));
      }
      return out;
    }
    for (const Parameter& parameter : info.parameters) {
      if (parameter.optional && random_() % 2 == 0) {
        break;
      }
      out.arguments.push_back(argument(parameter));
    }
    return out;
  }

  Argument argument(const Parameter& parameter) {
    switch (parameter.kind) {
      case ArgumentKind::size:
      case ArgumentKind::extent:
        return 1 + (random_() >> 1 >> (random_() % 62)) % (std::uint64_t{1} << 62);
      case ArgumentKind::duration:
        return Duration(random_() >> 1 >> (random_() % 63),
                        1 + static_cast<std::uint32_t>(random_() % 999'999'999));
      case ArgumentKind::probability:
        return std::ldexp(static_cast<double>(random_() | 1), -static_cast<int>(65 + random_() % 200));
      case ArgumentKind::name: {
        constexpr std::string_view letters = "abcXYZ019_.-:/+@";
        std::string out;
        for (std::size_t i = 0; i <= random_() % 12; ++i) {
          out += letters[random_() % letters.size()];
        }
        return out;
      }
      case ArgumentKind::keyword: {
        const auto keywords = split(parameter.keywords, '|');
        return std::string(keywords[random_() % keywords.size()]);
      }
    }
    return {};
  }

  std::mt19937_64 random_;
};

std::size_t rounds() {
  const auto soak = parse_count(environment("SLUICE_SOAK"));
  return 5000 * (soak ? *soak : 1);
}

TEST(Property, PrintingThenParsingGivesTheSameIntent) {
  Generator generator(42);
  std::size_t words = 0;
  for (std::size_t i = 0; i < rounds(); ++i) {
    const Intent intent = generator.intent();
    const std::string text = print(intent);
    const auto back = parse_intent(text);
    ASSERT_TRUE(back) << text << ": " << back.error().message;
    ASSERT_EQ(*back, intent) << text;
    ASSERT_EQ(print(*back), text);
    words += split_blanks(text).size();
  }
  EXPECT_GT(words, rounds());  // the generator does make intents
}

TEST(Property, AnyTextIsAnIntentOrAFaultInsideIt) {
  Generator generator(43);
  std::size_t faults = 0;
  for (std::size_t i = 0; i < rounds(); ++i) {
    const std::string text = generator.mutate(print(generator.intent()));
    const auto intent = parse_intent(text);
    if (intent) {
      EXPECT_EQ(*parse_intent(print(*intent)), *intent) << text;
    } else {
      ++faults;
      EXPECT_GE(intent.error().column, 1U);
      EXPECT_LE(intent.error().column, characters(text) + 1) << text;
      EXPECT_FALSE(intent.error().message.empty());
    }
  }
  EXPECT_GT(faults, rounds() / 4);
}

}  // namespace
}  // namespace sluice
