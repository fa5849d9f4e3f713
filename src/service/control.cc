#include "service/control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error_json.h"
#include "base/json.h"
#include "base/text.h"

namespace sluice::service {
namespace {

constexpr std::size_t longest_command = std::size_t{64} * 1024;
constexpr std::size_t most_clients = 64;

// A socket's address holds 107 bytes of path; a longer one is reached through the folder's descriptor.
struct Address {
  UniqueFd folder;
  sockaddr_un name{};

  static Result<Address> of(const ServerFolder& server) {
    Address out;
    out.folder = UniqueFd(sys().open(server.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    if (!out.folder) {
      return Errno().fail(fmt::format("cannot open {}", quote(server.path())));
    }
    out.name.sun_family = AF_UNIX;
    fmt::format_to_n(out.name.sun_path, sizeof out.name.sun_path - 1, "/proc/self/fd/{}/control",
                     out.folder.get());
    return out;
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

// Only the owner and root may speak, whatever became of the file's mode.
bool may_speak(int fd) {
  ucred who{};
  socklen_t size = sizeof who;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && (who.uid == geteuid() || who.uid == 0);
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::listen(const ServerFolder& server, Reactor& reactor,
                                                             Handler handler) {
  std::unique_ptr<ControlServer> out(new ControlServer(reactor, std::move(handler)));
  SLUICE_TRY(const Address address, Address::of(server));
  sys().unlink(server.file("control").c_str());
  out->socket_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = umask(0177);
  const bool bound = out->socket_ && bind(out->socket_.get(), address.get(), sizeof address.name) == 0 &&
                     ::listen(out->socket_.get(), 16) == 0;
  const Errno number;
  umask(before);
  if (!bound) {
    return number.fail(fmt::format("cannot listen on {}", quote(server.file("control"))));
  }
  SLUICE_CHECK(reactor.watch(out->socket_.get(), [it = out.get()] { it->accept_client(); }));
  return out;
}

ControlServer::~ControlServer() {
  for (const Client& client : clients_) {
    reactor_.forget(client.fd.get());
  }
  reactor_.forget(socket_.get());
}

void ControlServer::accept_client() {
  UniqueFd fd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd || !may_speak(fd.get()) || clients_.size() >= most_clients) {
    return;
  }
  clients_.push_back({.fd = std::move(fd), .input = {}});
  const auto client = std::prev(clients_.end());
  if (!reactor_.watch(client->fd.get(), [this, client] { serve(client); })) {
    clients_.erase(client);
  }
}

void ControlServer::serve(std::list<Client>::iterator client) {
  char buffer[4096];
  const ssize_t got = sys().read(client->fd.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  bool keep = got > 0;
  if (keep) {
    client->input.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = 0; keep && (end = client->input.find('\n')) != std::string::npos;) {
      const std::string out = answer(std::string_view(client->input).substr(0, end));
      // A client that does not read its answers is not waited for.
      keep = send(client->fd.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
             static_cast<ssize_t>(out.size());
      client->input.erase(0, end + 1);
    }
    keep = keep && client->input.size() <= longest_command;
  }
  if (!keep) {
    reactor_.forget(client->fd.get());
    clients_.erase(client);
  }
}

std::string ControlServer::answer(std::string_view line) {
  const auto result = handler_(line);
  return write_json(result ? *result : error_json(result.error())) + "\n";
}

Result<Json> ask(const ServerFolder& server, std::string_view command, Duration patience) {
  if (command.find('\n') != std::string_view::npos) {
    return bad_input(fmt::format("{} is more than one line", quote(command)), "one command at a time");
  }
  SLUICE_TRY(const Address address, Address::of(server));
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), address.get(), sizeof address.name) != 0) {
    const Errno number;
    return number.fail(fmt::format("cannot speak to {}", quote(server.name())))
        .advise(server.server() > 0 ? "its server is there; is it yours?"
                                    : fmt::format("its server has ended; see {}, then `{}`",
                                                  server.file("log"), server.end_command()));
  }
  std::string line(command);
  line += '\n';
  if (send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    return Errno().fail(fmt::format("cannot speak to {}", quote(server.name())));
  }
  std::string text;
  char buffer[16384];
  while (text.find('\n') == std::string::npos) {
    pollfd waiting{.fd = fd.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, patience.in_milliseconds());
    const ssize_t got = ready > 0 ? sys().read(fd.get(), buffer, sizeof buffer) : 0;
    if ((ready < 0 || got < 0) && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return fail(fmt::format("{} does not answer", quote(server.name())),
                  fmt::format("its log is {}", server.file("log")));
    }
    text.append(buffer, static_cast<std::size_t>(got));
  }
  Json out = parse_json(text);
  if (!out.is_object()) {
    return fail(fmt::format("{} answers what cannot be understood", quote(server.name())),
                fmt::format("is it of another version? `{}` ends it", server.end_command()));
  }
  if (const auto error = error_in(out)) {
    return *error;
  }
  return out;
}

}  // namespace sluice::service
