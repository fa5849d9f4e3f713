// The control socket of a server: a Unix socket that only its owner may use. A line of text goes in, a line
// of JSON comes back: {"error": "..."} with "usage": true where the command was at fault, else what the
// command has to say.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/units.h"
#include "service/reactor.h"
#include "service/server_folder.h"

namespace sluice::service {

class ControlServer {
 public:
  // Answers one command. Must not block.
  using Handler = std::function<Result<Json>(std::string_view command)>;

  // Listens as `control` in the folder, mode 0600. The reactor must outlive it.
  static Result<std::unique_ptr<ControlServer>> listen(const ServerFolder& server, Reactor& reactor,
                                                       Handler handler);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  struct Client {
    UniqueFd fd;
    std::string input;
  };
  ControlServer(Reactor& reactor, Handler handler) : reactor_(reactor), handler_(std::move(handler)) {}
  void accept_client();
  void serve(std::list<Client>::iterator client);
  std::string answer(std::string_view line);

  Reactor& reactor_;
  Handler handler_;
  UniqueFd socket_;
  std::list<Client> clients_;
};

// Says a command to the server and waits for its answer.
Result<Json> ask(const ServerFolder& server, std::string_view command, Duration patience = Duration(10, 0));

}  // namespace sluice::service
