// The folder that a server keeps itself in:
//
//   server        locked by the server as long as it lives, which tells its process id
//   control       its control socket
//   log           what it had to say
//   ...           what else it keeps there
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/sys.h"

namespace sluice::service {

class ServerFolder {
 public:
  // `process_name` is what `ps` shows, of at most 15 bytes; `end_command` is what people type to end the
  // server.
  ServerFolder(std::string path, std::string name, std::string process_name, std::string end_command)
      : path_(std::move(path)),
        name_(std::move(name)),
        process_name_(std::move(process_name)),
        end_command_(std::move(end_command)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& process_name() const { return process_name_; }
  [[nodiscard]] const std::string& end_command() const { return end_command_; }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // The process that serves it, 0 when none does.
  [[nodiscard]] int server() const;
  // Locks `server` for this process; by the server itself, after its fork.
  [[nodiscard]] Result<UniqueFd> claim() const;

 private:
  std::string path_;
  std::string name_;
  std::string process_name_;
  std::string end_command_;
};

}  // namespace sluice::service
