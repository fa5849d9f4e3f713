#include "places/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "places/devices.h"

namespace sluice {
namespace {

enum class Family { none, lustre, ceph, beegfs, gluster, gpfs };

Family family_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, Family>, 9> types = {{{"lustre", Family::lustre},
                                                                         {"ceph", Family::ceph},
                                                                         {"fuse.ceph", Family::ceph},
                                                                         {"fuse.ceph-fuse", Family::ceph},
                                                                         {"beegfs", Family::beegfs},
                                                                         {"fuse.beegfs", Family::beegfs},
                                                                         {"glusterfs", Family::gluster},
                                                                         {"fuse.glusterfs", Family::gluster},
                                                                         {"gpfs", Family::gpfs}}};
  for (const auto& [name, family] : types) {
    if (name == type) {
      return family;
    }
  }
  return Family::none;
}

// Words of a mount become words of a command: one that could be taken for an option is not passed on.
bool harmless(std::string_view word) {
  return !word.empty() && word[0] != '-';
}

// The name of the Ceph file system: an option of the kernel's mount, or part of "user@fsid.name=/path".
std::string ceph_name(const Mount& mount) {
  for (const std::string_view key : {"mds_namespace", "fs", "client_mds_namespace"}) {
    if (const std::string_view value = mount.option(key); !value.empty()) {
      return std::string(value);
    }
  }
  const std::size_t at = mount.source.find('@');
  const std::size_t end = mount.source.find("=/");
  const std::size_t dot = at == std::string::npos ? at : mount.source.find('.', at);
  return dot != std::string::npos && end != std::string::npos && dot < end
             ? mount.source.substr(dot + 1, end - dot - 1)
             : std::string{};
}

std::string_view text_of(const std::vector<const Outcome*>& outcomes, std::size_t at) {
  const bool good = at < outcomes.size() && outcomes[at]->finished && outcomes[at]->status == 0;
  return good ? std::string_view(outcomes[at]->output) : std::string_view{};
}

}  // namespace

std::vector<Tool> network_tools(const Mount& mount) {
  switch (family_of(mount.type)) {
    case Family::lustre:
      return {{"lfs", {"df", mount.point}}, {"lfs", {"getstripe", "-d", mount.point}}};
    case Family::ceph:
      return {{"ceph", {"osd", "dump", "-f", "json"}}, {"ceph", {"fs", "dump", "-f", "json"}}};
    case Family::beegfs:
      return {{"beegfs-ctl", {"--listtargets", "--nodetype=storage", "--mount=" + mount.point}},
              {"beegfs-ctl", {"--getentryinfo", mount.point}}};
    case Family::gluster: {
      const std::size_t colon = mount.source.rfind(":/");
      const std::size_t colon2 = colon == std::string::npos ? mount.source.rfind(':') : colon;
      if (colon2 == std::string::npos) {
        return {};
      }
      // "server:/volume/folder" or "server:volume"
      std::string volume = mount.source.substr(colon2 + 1);
      volume.erase(0, volume.find_first_not_of('/'));
      volume = volume.substr(0, volume.find('/'));
      if (!harmless(volume)) {
        return {};
      }
      return {
          {"gluster",
           {"--mode=script", "--remote-host=" + mount.source.substr(0, colon2), "volume", "info", volume}}};
    }
    case Family::gpfs: {
      const std::string name = mount.source.substr(mount.source.rfind('/') + 1);
      return harmless(name) ? std::vector<Tool>{{"mmlsfs", {name, "-Y"}}} : std::vector<Tool>{};
    }
    case Family::none:
      break;
  }
  return {};
}

NetworkFacts network_facts(const Mount& mount, const std::vector<const Outcome*>& outcomes) {
  NetworkFacts out;
  switch (family_of(mount.type)) {
    case Family::lustre:
      out = parse_lfs(text_of(outcomes, 0), text_of(outcomes, 1));
      out.tool = "lfs";
      break;
    case Family::ceph:
      out = parse_ceph(text_of(outcomes, 0), text_of(outcomes, 1), ceph_name(mount));
      out.tool = "ceph";
      break;
    case Family::beegfs:
      out = parse_beegfs(text_of(outcomes, 0), text_of(outcomes, 1));
      out.tool = "beegfs-ctl";
      break;
    case Family::gluster:
      out = parse_gluster(text_of(outcomes, 0));
      out.tool = "gluster";
      break;
    case Family::gpfs:
      out = parse_mmlsfs(text_of(outcomes, 0));
      out.tool = "mmlsfs";
      break;
    case Family::none:
      break;
  }
  return out;
}

Device network_device(const Mount& mount, const NetworkFacts& facts) {
  Device out = plain_device(mount.source, DeviceKind::complex, Media::network);
  out.note = facts.note;
  out.layout = facts.layout;
  out.stripe = facts.stripe;
  for (const std::string& target : facts.targets) {
    out.below.push_back(plain_device(target, DeviceKind::simple, Media::network));
  }
  return out;
}

}  // namespace sluice
