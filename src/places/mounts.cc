#include "places/mounts.h"

namespace sluice {

bool lies_in(std::string_view path, std::string_view folder) {
  return folder == "/" ||
         (path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/'));
}

std::string_view above(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

Mounts::Mounts(std::vector<Mount> mounts) : mounts_(std::move(mounts)), hidden_(mounts_.size()) {
  for (std::size_t i = 0; i < mounts_.size(); ++i) {
    by_id_[mounts_[i].id] = i;
    if (mounts_[i].parent != mounts_[i].id) {
      children_[mounts_[i].parent][mounts_[i].point] = i;
    }
  }
  // Whether the way to a mount is cut off is decided from its parent downwards; deep chains and cycles of a
  // damaged table are cut off by the state "under way".
  enum class State : unsigned char { open, under_way, decided };
  std::vector<State> states(mounts_.size(), State::open);
  std::vector<bool> buried(
      mounts_.size());  // the path to it, or to one of its parents, crosses another mount
  for (std::size_t start = 0; start < mounts_.size(); ++start) {
    std::vector<std::size_t> chain;
    for (std::size_t i = start; states[i] == State::open;) {
      states[i] = State::under_way;
      chain.push_back(i);
      const auto parent = by_id_.find(mounts_[i].parent);
      if (parent == by_id_.end()) {
        break;
      }
      i = parent->second;
    }
    for (; !chain.empty(); chain.pop_back()) {
      const std::size_t i = chain.back();
      const auto parent = by_id_.find(mounts_[i].parent);
      const bool inherited = parent != by_id_.end() && parent->second != i && buried[parent->second];
      buried[i] = inherited || covered(mounts_[i]);
      states[i] = State::decided;
    }
  }
  for (std::size_t i = 0; i < mounts_.size(); ++i) {
    const auto children = children_.find(mounts_[i].id);
    const bool topped = children != children_.end() && children->second.contains(mounts_[i].point);
    hidden_[i] = buried[i] || topped;
    if (!hidden_[i]) {
      visible_[mounts_[i].point] = i;
    }
  }
}

// Does a sibling lie on the way from the parent to this mount, or later on the same point?
bool Mounts::covered(const Mount& mount) const {
  const auto siblings = children_.find(mount.parent);
  if (siblings == children_.end() || mount.parent == mount.id) {
    return false;
  }
  const auto parent = by_id_.find(mount.parent);
  const std::string_view stop =
      parent != by_id_.end() ? std::string_view(mounts_[parent->second].point) : "/";
  for (std::string_view point = mount.point;; point = above(point)) {
    const auto found = siblings->second.find(point);
    if (found != siblings->second.end() && &mounts_[found->second] != &mount) {
      return true;
    }
    if (point == stop || point == "/") {
      return false;
    }
  }
}

bool Mounts::hidden(const Mount& mount) const {
  return hidden_[static_cast<std::size_t>(&mount - mounts_.data())];
}

const Mount* Mounts::holder(std::string_view path) const {
  if (!path.starts_with('/')) {
    return nullptr;
  }
  for (;; path = above(path)) {
    if (const auto found = visible_.find(path); found != visible_.end()) {
      return &mounts_[found->second];
    }
    if (path == "/") {
      return nullptr;
    }
  }
}

}  // namespace sluice
