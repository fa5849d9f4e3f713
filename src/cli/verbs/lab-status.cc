#include <fmt/format.h>

#include <array>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/verb.h"
#include "lab/service.h"

namespace sluice {
namespace {

constexpr std::array rows = {&lab::option_lab};

constexpr std::array examples = {
    Example{"sluice lab status", "What there is, what it is doing and what is wrong with it."},
};

Json describe(const lab::Member& member) {
  Json out = {{"name", member.name()}, {"kind", member.kind()}, {"pid", member.server()}};
  put_bytes(out, "folder", member.path());
  auto status = lab::ask(member, "status", Duration(2, 0));
  if (status) {
    out.update(*status);
  } else {
    out["state"] = "gone";
    out["error"] = status.error().text();
  }
  return out;
}

std::string served(const Json& row) {
  if (row.contains("hosts")) {
    std::uint64_t frames = 0;
    std::uint64_t lost = 0;
    for (const Json& host : row["hosts"]) {
      frames += host.value("forwarded_frames", std::uint64_t{0});
      lost += host.value("dropped_frames", std::uint64_t{0});
    }
    return fmt::format("{} frames, {} lost, {} connections", frames, lost,
                       row.value("connections", std::uint64_t{0}));
  }
  if (!row.contains("served")) {
    return row.value("error", "");
  }
  if (row.value("answers", std::uint64_t{0}) == 0) {
    return "nothing yet";
  }
  const Json& all = row["served"];
  const auto part = [&](const char* op, std::string_view name) {
    return fmt::format("{} {}", all[op].value("requests", std::uint64_t{0}), name);
  };
  return fmt::format("{}, {}, {}; answered {} late in the mean", part("read", "reads"),
                     part("write", "writes"), part("flush", "flushes"),
                     human_duration(row.value("late_mean", 0.0)));
}

std::string faults_text(const Json& row) {
  std::vector<std::string> out;
  for (const Json& fault : row.value("faults", Json::array())) {
    out.push_back(fault.get<std::string>());
  }
  return out.empty() ? "none" : join(out, ", ");
}

Result<Output> run(const Context& context) {
  const std::string folder = lab::lab_folder(context.options);
  Output out;
  put_bytes(out.json, "lab", folder);
  out.json["members"] = Json::array();
  Table table({{.title = "NAME"},
               {.title = "KIND"},
               {.title = "STATE"},
               {.title = "SIZE", .align = Align::right},
               {.title = "FAULTS", .shrink = Shrink::end},
               {.title = "SERVED", .shrink = Shrink::end}});
  bool all_there = true;
  for (const lab::Member& member : lab::members(folder)) {
    Json row = describe(member);
    const std::string state = row.value("state", "");
    all_there = all_there && state != "gone";
    table.add({member.name(), row.value("kind", ""), state,
               row.contains("size") ? human_size(row.value("size", std::uint64_t{0})) : "", faults_text(row),
               served(row)},
              state == "gone" ? Colour::red : Colour::plain);
    out.json["members"].push_back(std::move(row));
  }
  out.text = out.json["members"].empty() ? fmt::format("there is no lab in {}\n", quote(folder))
                                         : table.print(context.style);
  out.status = all_there ? 0 : 1;
  return out;
}

}  // namespace

extern const Verb verb_lab_status = {
    .name = "lab status",
    .summary = "what the lab has: devices and nets, what they served, and their faults",
    .operands = "",
    .least_operands = 0,
    .most_operands = 0,
    .description =
        "A member whose server has died is `gone`, and the exit status is 1. How late answers were is "
        "measured against "
        "the model, in the server; see docs/lab.md for what that leaves out.",
    .options = rows,
    .examples = examples,
    .run = run,
};

}  // namespace sluice
