#include "learn/names.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "intent/glob.h"

namespace sluice {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

template <class Is>
std::size_t count(std::string_view text, Is is) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is));
}

bool is_hash(std::string_view chunk) {
  constexpr std::size_t least = 8;
  return chunk.size() >= least && count(chunk, is_hex) == chunk.size() && count(chunk, is_digit) > 0 &&
         count(chunk, is_letter) > 0;
}

// A date or time, a process among many, what is drawn by chance: another run has another.
bool is_stamp(std::string_view digits) {
  constexpr std::size_t date = 8;
  return digits.size() >= date;
}

// What mkstemp() and its kin put behind a name: at least six letters and digits that are no word.
std::size_t chance_behind(std::string_view chunk) {
  constexpr std::size_t least = 6;
  if (chunk.starts_with("tmp") && chunk.size() >= 3 + least && chunk.size() <= 3 + least + 4) {
    return chunk.size() - 3;
  }
  if (chunk.size() < least) {
    return 0;
  }
  const std::string_view last = chunk.substr(chunk.size() - least);
  const std::size_t upper = count(last.substr(1), is_upper);
  const std::size_t digits = count(last, is_digit);
  const std::size_t lower = least - digits - count(last, is_upper);
  // How often the kind of letter changes: in words it is once or twice.
  std::size_t changes = 0;
  for (std::size_t i = 1; i < last.size(); ++i) {
    const auto kind = [](char c) { return is_digit(c) ? 0U : is_upper(c) ? 1U : 2U; };
    changes += kind(last[i]) != kind(last[i - 1]) ? 1U : 0U;
  }
  return upper > 0 && lower > 0 && changes >= 3 ? least : 0;
}

bool is_date(std::string_view text, std::size_t at) {
  // 2024-01-31, 2024_01_31
  constexpr std::size_t length = 10;
  if (at + length > text.size()) {
    return false;
  }
  const std::string_view date = text.substr(at, length);
  const bool century = date.starts_with("19") || date.starts_with("20");
  return century && count(date, is_digit) == 8 && !is_digit(date[4]) && date[4] == date[7] &&
         std::string_view("-_.").find(date[4]) != std::string_view::npos;
}

// Letters, digits and numbers between what separates them.
void add_chunk(std::string_view chunk, bool below_hash, std::vector<NamePart>& out) {
  if (is_hash(chunk) || (below_hash && !chunk.empty() && count(chunk, is_hex) == chunk.size())) {
    out.push_back({.text_of = chunk, .kind = NamePart::stamp});
    return;
  }
  const std::size_t chance = chance_behind(chunk);
  const std::string_view front = chunk.substr(0, chunk.size() - chance);
  for (std::size_t i = 0; i < front.size();) {
    const bool digits = is_digit(front[i]);
    std::size_t end = i;
    while (end < front.size() && is_digit(front[end]) == digits) {
      ++end;
    }
    const std::string_view part = front.substr(i, end - i);
    out.push_back({.text_of = part,
                   .kind = !digits          ? NamePart::text
                           : is_stamp(part) ? NamePart::stamp
                                            : NamePart::number});
    i = end;
  }
  if (chance > 0) {
    out.push_back({.text_of = chunk.substr(front.size()), .kind = NamePart::stamp});
  }
}

// The folder of two letters that git and others put above a hash.
bool is_above_hash(std::string_view path, std::size_t chunk, std::size_t end) {
  if (end >= path.size() || path[end] != '/' || chunk == 0 || path[chunk - 1] != '/') {
    return false;
  }
  std::size_t next = end + 1;
  while (next < path.size() && (is_digit(path[next]) || is_letter(path[next]))) {
    ++next;
  }
  return is_hash(path.substr(end + 1, next - end - 1));
}

}  // namespace

std::vector<NamePart> parts_of(std::string_view path, std::size_t fixed) {
  std::vector<NamePart> out;
  if (fixed > 0) {
    out.push_back({.text_of = path.substr(0, fixed), .kind = NamePart::text});
  }
  for (std::size_t i = fixed; i < path.size();) {
    if (is_date(path, i) && (i == 0 || !is_digit(path[i - 1]))) {
      constexpr std::size_t length = 10;
      out.push_back({.text_of = path.substr(i, length), .kind = NamePart::stamp});
      i += length;
      continue;
    }
    std::size_t end = i;
    while (end < path.size() && (is_digit(path[end]) || is_letter(path[end])) &&
           (end == i || !is_date(path, end) || is_digit(path[end - 1]))) {
      ++end;
    }
    if (end == i) {
      out.push_back({.text_of = path.substr(i, 1), .kind = NamePart::text});
      i += 1;
      continue;
    }
    add_chunk(path.substr(i, end - i), is_above_hash(path, i, end), out);
    i = end;
  }
  return out;
}

std::string skeleton_of(const std::vector<NamePart>& parts) {
  std::string out;
  for (const NamePart& part : parts) {
    // No path has a zero byte in it.
    out += part.kind == NamePart::text ? std::string(part.text_of)
                                       : std::string(1, '\0') + (part.kind == NamePart::number ? '0' : '#');
  }
  return out;
}

std::string glob_text(std::string_view text) {
  if (is_utf8(text) &&
      count(text, [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }) == 0) {
    return Glob::literal(text);
  }
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? "?" : Glob::literal(std::string_view(&c, 1));
  }
  return out;
}

std::string glob_of(const std::vector<std::vector<NamePart>>& all, Width width) {
  std::string out;
  for (std::size_t i = 0; i < all.front().size(); ++i) {
    const NamePart& first = all.front()[i];
    const bool same = std::all_of(all.begin(), all.end(), [&](const std::vector<NamePart>& parts) {
      return parts[i].text_of == first.text_of;
    });
    if (first.kind == NamePart::text || (same && first.kind == NamePart::number)) {
      out += glob_text(first.text_of);
      continue;
    }
    const bool number = std::all_of(all.begin(), all.end(), [&](const std::vector<NamePart>& parts) {
      return count(parts[i].text_of, is_digit) == parts[i].text_of.size();
    });
    const bool as_long = std::all_of(all.begin(), all.end(), [&](const std::vector<NamePart>& parts) {
      return parts[i].text_of.size() == first.text_of.size();
    });
    const bool plain = std::all_of(all.begin(), all.end(), [&](const std::vector<NamePart>& parts) {
      return count(parts[i].text_of, [](char c) { return is_digit(c) || is_letter(c); }) ==
             parts[i].text_of.size();
    });
    if (width == Width::letters && as_long && plain) {
      for (std::size_t letter = 0; letter < first.text_of.size(); ++letter) {
        out += number ? "[0-9]" : "[0-9a-zA-Z]";
      }
    } else if (width != Width::any && number) {
      out += "[0-9]*";
    } else {
      out += out.ends_with('*') && !out.ends_with("\\*") ? "" : "*";
    }
  }
  return out;
}

}  // namespace sluice
