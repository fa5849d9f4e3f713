#include "places/naming.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace sluice {
namespace {

constexpr std::size_t longest = 48;

bool allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

// FNV-1a: short, and the same on every machine and in every version.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char c : text) {
    out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return out;
}

}  // namespace

std::string name_of(std::string_view mount_point) {
  if (mount_point == "/") {
    return "root";
  }
  std::string out;
  for (const char c : mount_point) {
    if (allowed(c) && (c != '-' || !out.ends_with('-'))) {
      out += c;
    } else if (!out.empty() && !out.ends_with('-')) {
      out += '-';
    }
  }
  while (out.ends_with('-')) {
    out.pop_back();
  }
  out.erase(0, out.find_first_not_of("-."));  // neither an option nor a hidden file
  if (out.empty()) {
    return fmt::format("place-{:08x}", hash_of(mount_point) & 0xFFFFFFFF);
  }
  if (out.size() > longest) {
    out = fmt::format("{}-{:08x}", out.substr(0, longest - 9), hash_of(mount_point) & 0xFFFFFFFF);
  }
  return out;
}

bool is_place_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name[0] != '-' && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string UniqueNames::take(const std::string& wanted) {
  if (taken_.insert(wanted).second) {
    return wanted;
  }
  unsigned& next = next_.try_emplace(wanted, 2).first->second;
  for (;; ++next) {
    if (std::string name = fmt::format("{}-{}", wanted, next); taken_.insert(name).second) {
      return name;
    }
  }
}

std::string identity_of(const Mount& mount, std::string_view uuid, bool network) {
  std::string out;
  if (!uuid.empty()) {
    out = uuid;
  } else if (network && !mount.source.empty() && mount.source != "none") {
    // nfs and nfs4 are one protocol family: a remount with another version stays the same place.
    out = fmt::format("{}:{}", mount.type == "nfs4" ? "nfs" : mount.type, mount.source);
  } else {
    return fmt::format("{}:{}", mount.type, mount.point);
  }
  return mount.root == "/" ? out : fmt::format("{}:{}", out, mount.root);
}

}  // namespace sluice
