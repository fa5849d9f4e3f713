#include "base/mountinfo.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/text.h"

namespace sluice {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  return fault == std::errc{} && end == text.data() + text.size() && !text.empty();
}

bool has_option(std::string_view options, std::string_view word) {
  for (const std::string_view option : split(options, ',')) {
    if (option == word) {
      return true;
    }
  }
  return false;
}

// 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue
std::optional<Mount> parse_line(std::string_view line) {
  // Single blanks: an empty field is possible (a mount without source) and stays a field.
  const std::vector<std::string_view> fields = split(line, ' ');
  std::size_t dash = 6;
  while (dash < fields.size() && fields[dash] != "-") {
    ++dash;
  }
  if (dash + 2 >= fields.size()) {
    return std::nullopt;
  }
  Mount out;
  const std::vector<std::string_view> number = split(fields[2], ':');
  if (!read_number(fields[0], out.id) || !read_number(fields[1], out.parent) || number.size() != 2 ||
      !read_number(number[0], out.major) || !read_number(number[1], out.minor)) {
    return std::nullopt;
  }
  out.root = undo_octal(fields[3]);
  out.point = undo_octal(fields[4]);
  out.options = undo_octal(fields[5]);
  out.type = undo_octal(fields[dash + 1]);
  out.source = undo_octal(fields[dash + 2]);
  // Some file systems print blanks in their options; they are the last field, so nothing is lost.
  for (std::size_t i = dash + 3; i < fields.size(); ++i) {
    out.super_options += (i > dash + 3 ? " " : "") + undo_octal(fields[i]);
  }
  if (!out.point.starts_with('/') || out.type.empty() || out.point.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  return out;
}

}  // namespace

bool Mount::read_only() const {
  return has_option(options, "ro") || has_option(super_options, "ro");
}

std::string_view Mount::option(std::string_view key) const {
  for (const std::string_view option : split(super_options, ',')) {
    if (option.size() > key.size() && option.starts_with(key) && option[key.size()] == '=') {
      return option.substr(key.size() + 1);
    }
  }
  return {};
}

std::string undo_octal(std::string_view text) {
  const auto digit = [&](std::size_t at, char most) { return text[at] >= '0' && text[at] <= most; };
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && digit(i + 1, '3') && digit(i + 2, '7') &&
        digit(i + 3, '7')) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

MountInfo parse_mountinfo(std::string_view text) {
  MountInfo out;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) {
      continue;
    }
    if (std::optional<Mount> mount = parse_line(line)) {
      out.mounts.push_back(std::move(*mount));
    } else {
      out.unread.push_back(
          fmt::format("line {} of mountinfo is malformed: {}", number, quote(line.substr(0, 200))));
    }
  }
  return out;
}

}  // namespace sluice
