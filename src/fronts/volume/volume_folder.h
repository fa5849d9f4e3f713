// Where this machine's volumes are described, a folder each:
//
//   VOLUMES/NAME/volume.json   its tiers, and how it is served
//   VOLUMES/NAME/disk          the volume as a file, while its server runs
//   VOLUMES/NAME/...           what every server has (service/server_folder.h)
//
// What matters lies on the tiers: a volume whose folder is lost is described again with `create --adopt`.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/options.h"
#include "base/result.h"
#include "service/server_folder.h"

namespace sluice::volume {

struct TierSpec {
  std::string name;
  std::string path;        // file, block device, or URI of an NBD server
  std::uint64_t size = 0;  // of the file that is made; 0: what is there
  bool persistent = true;
  bool make = false;  // the file is to be made
};

struct Description {
  std::vector<TierSpec> tiers;
  std::string policy = "heat";
  double interval = 300;  // seconds between two runs of the policy
  std::string scheduler = "adaptive";
  double move_rate = 0;  // bytes a second
  std::uint64_t prefetch_slots = 0;
  bool update_copies = false;
  std::uint64_t top = 1000;
  double threshold = 2;
  double damping = 0.5;
  double keep_free = 0.05;
  Json placement = Json::array();  // rules that hints follow, see hints.h
};

// --volumes, SLUICE_VOLUMES.
extern const Option option_volumes;
std::string volumes_folder(const Options& options);
std::string default_volumes_folder();

class VolumeFolder : public service::ServerFolder {
 public:
  VolumeFolder(const std::string& volumes, const std::string& name)
      : ServerFolder(volumes + "/" + name, name, "sluice-volume", "sluice volume stop " + name) {}

  [[nodiscard]] std::string disk() const { return file("disk"); }
  // Makes the folder, which must not be there.
  [[nodiscard]] Status create(const Description& description) const;
  // The folder must be this user's or root's, and nobody else's to write to.
  [[nodiscard]] Result<Description> read() const;
  [[nodiscard]] Status write(const Description& description) const;
  [[nodiscard]] Status remove() const;
};

// Keeps other commands from changing the volume's description or starting its server.
Result<UniqueFd> lock_volume(const VolumeFolder& volume);
Result<VolumeFolder> find_volume(const std::string& volumes, const std::string& name);
std::vector<VolumeFolder> all_volumes(const std::string& volumes);

// "fast=/path[,SIZE][,volatile|persistent]". A folder gets a file NAME.tier.
Result<TierSpec> parse_tier(std::string_view text, const std::string& volume);

Json to_json(const Description& description);
Result<Description> from_json(const Json& json);

}  // namespace sluice::volume
