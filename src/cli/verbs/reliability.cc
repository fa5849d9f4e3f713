#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/files.h"
#include "base/json.h"
#include "base/svg.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/place_input.h"
#include "forecast/chain.h"
#include "forecast/simulate.h"
#include "places/defaults.h"

namespace sluice {
namespace {

constexpr Option layout_ = {.name = "layout",
                            .letter = 'l',
                            .type = OptionType::text,
                            .argument = "LAYOUT",
                            .help = "how disks hold the data; without it the place's own, or raid1:2"};
constexpr Option mttf = {.name = "mttf",
                         .type = OptionType::duration,
                         .argument = "TIME",
                         .range = "1s..",
                         .help = "mean time to failure of one disk; without it the place's, or 10y"};
constexpr Option mttr = {.name = "mttr",
                         .type = OptionType::duration,
                         .argument = "TIME",
                         .range = "1ms..",
                         .help = "mean time to repair one disk; without it the place's, or 1d"};
constexpr Option ber = {.name = "ber",
                        .type = OptionType::text,
                        .argument = "RATE",
                        .help = "raw bit errors per bit read, 0 to below 1; without it the place's, or 1e-6"};
constexpr Option ecc = {.name = "ecc",
                        .type = OptionType::count,
                        .argument = "BITS",
                        .range = "0..1048575",
                        .help = "bits of a sector that can be corrected; without it the place's, or 2"};
constexpr Option sector_bits = {.name = "sector-bits",
                                .type = OptionType::count,
                                .argument = "BITS",
                                .range = "1..1048576",
                                .help = "bits of a sector; without it the place's, or 512"};
constexpr Option size = {.name = "size",
                         .letter = 's',
                         .type = OptionType::size,
                         .argument = "SIZE",
                         .range = "1B..",
                         .help = "how much data; without it all that fits on the place, or 1T"};
constexpr Option lifetime = {.name = "lifetime",
                             .type = OptionType::duration,
                             .argument = "TIME",
                             .range = "1ms..",
                             .help = "also tell how likely data is lost during this time"};
constexpr Option trials = {.name = "simulate",
                           .letter = 'n',
                           .type = OptionType::count,
                           .argument = "TRIALS",
                           .range = "10..1000000000",
                           .help = "simulate as well, so many times; 100000 are good to about 1 %"};
constexpr Option seed = {.name = "seed",
                         .type = OptionType::count,
                         .argument = "NUMBER",
                         .help = "of the simulation's random numbers; without it 1"};
constexpr Option chart = {.name = "chart",
                          .type = OptionType::path,
                          .argument = "FILE.svg",
                          .help = "draw the mean time to data loss over the size of the data"};
constexpr std::array rows = {&layout_,     &mttf,           &mttr,           &ber,          &ecc,
                             &sector_bits, &size,           &lifetime,       &trials,       &seed,
                             &chart,       &option_timeout, &option_catalog, &option_system};

constexpr std::array examples = {
    Example{"sluice reliability --layout raid5:5 --mttf 10y --size 1T",
            "How long 1 TiB lasts on a RAID 5 of five disks."},
    Example{"sluice reliability --layout 'raid0(raid6:8,raid6:8)' --simulate 1000000",
            "RAID 60, by formula, by the exact chain, and simulated."},
    Example{"sluice reliability root --mttf 5y --lifetime 3y",
            "How likely the place called root loses its data within three years."},
    Example{"sluice reliability --layout mds:10+4 --chart sizes.svg", "A picture over sizes up to 1 PiB."},
};

template <class T>
void state(Trait<T>& trait, T value, const Option& row) {
  trait = {
      .value = std::move(value), .source = Source::configuration, .detail = fmt::format("--{}", row.name)};
}

// What is asked about: the place that was named, or none in particular, with what the options say of it.
Result<Place> read_place(const Context& context) {
  const Options& options = context.options;
  Place place;
  if (options.operands().empty()) {
    if (options.given("system")) {
      return bad_input("--system needs a PLACE on that machine");
    }
    place.layout.value = Layout{.scheme = Scheme::raid1, .disks = 2, .parity = 0, .members = {}};
    place.free.value = std::uint64_t{1} << 40;
    fill_defaults(place);
  } else {
    SLUICE_TRY(const Storage storage, read_places(context, false));
    SLUICE_TRY(place, named_place(storage.found.places, options.operands().front()));
  }
  if (options.given("layout")) {
    SLUICE_TRY(Layout typed, parse_layout(options.text("layout")));
    state(place.layout, std::move(typed), layout_);
  }
  if (options.given("mttf")) {
    state(place.mttf, options.duration("mttf"), mttf);
  }
  if (options.given("mttr")) {
    state(place.mttr, options.duration("mttr"), mttr);
  }
  if (options.given("ber")) {
    const auto rate = parse_number(options.text("ber"));
    if (!rate || *rate < 0 || *rate >= 1) {
      return bad_input(fmt::format("option --ber: {} is no rate of bit errors", quote(options.text("ber"))),
                       "write a number from 0 to below 1, such as 1e-6");
    }
    state(place.ber, *rate, ber);
  }
  if (options.given("ecc")) {
    state(place.ecc_bits, options.count("ecc"), ecc);
  }
  if (options.given("sector-bits")) {
    state(place.sector_bits, options.count("sector-bits"), sector_bits);
  }
  if (!place.layout) {
    return fail(fmt::format("how the disks of {} hold the data is not known", place.name),
                "give --layout, or set layout in sluice.toml");
  }
  if (!place.mttf || !place.mttr || !place.ber || !place.ecc_bits || !place.sector_bits) {
    return fail(fmt::format("MTTF, MTTR, BER, ECC or sector size of {} is not known", place.name));
  }
  if ((*place.mttf).in_seconds() <= 0 || (*place.mttr).in_seconds() <= 0) {
    return bad_input("an MTTF or MTTR of zero means nothing", "set mttf and mttr in sluice.toml");
  }
  if (*place.ecc_bits >= *place.sector_bits) {
    return bad_input(
        fmt::format("{} bits of a sector of {} cannot be corrected", *place.ecc_bits, *place.sector_bits),
        "--ecc must be below --sector-bits");
  }
  return place;
}

Result<std::uint64_t> read_size(const Context& context, const Place& place) {
  if (context.options.given("size")) {
    return context.options.count("size");
  }
  const std::uint64_t all = place.free.value_or(place.capacity.value_or(0));
  if (all == 0) {
    return fail(fmt::format("how much data fits on {} is not known, or nothing does", place.name),
                "give --size");
  }
  return all;
}

struct Answer {
  bool reliable = false;  // the rest is there only then
  double closed = 0;
  double exact = 0;
  std::optional<Simulation> simulation;
  std::optional<double> loss;
  std::vector<std::string> notes;
};

Simulation run_simulation(const Context& context, const Layout& layout, const DiskModel& disk,
                          std::uint64_t bytes) {
  const std::uint64_t wanted = context.options.count("simulate");
  Progress progress;
  return simulate(
      layout, disk, bytes,
      {.trials = wanted,
       .seed = context.options.given("seed") ? context.options.count("seed") : 1,
       .threads = 0,
       .progress = [&](std::uint64_t done) {
         constexpr std::uint64_t cells = 30;
         const auto full = static_cast<std::size_t>(done * cells / wanted);
         progress.show(fmt::format("simulating [{:<30}] {} %", std::string(full, '#'), done * 100 / wanted));
       }});
}

Answer answer_of(const Context& context, const Place& place, const DiskModel& disk, std::uint64_t bytes) {
  constexpr double most_difference = 0.1;
  const Layout& layout = *place.layout;
  Answer out;
  if (std::string why = unsafe_because(place); !why.empty()) {
    out.notes.push_back(std::move(why));
    return out;
  }
  if (!survives_one(layout)) {
    if (place.mttf.source == Source::fallback) {
      out.notes.push_back(
          fmt::format("not reliable: {} has no redundancy and no stated MTTF; give --mttf", print(layout)));
      return out;
    }
    out.notes.push_back(fmt::format(
        "{}: the first failure of an unprotected disk loses data, and read errors are lost data too",
        print(layout)));
  }
  out.reliable = true;
  out.closed = mttdl(layout, disk, bytes);
  const Chain chain = chain_of(layout, disk, bytes);
  out.exact = mean_time(chain);
  if (const double ratio = out.closed / out.exact; std::abs(ratio - 1) > most_difference) {
    const double errors = rebuild_errors(layout, disk, bytes);
    out.notes.push_back(fmt::format(
        "the closed form is {:.0f} % too {} here: {}", std::abs(ratio - 1) * 100, ratio < 1 ? "low" : "high",
        errors >= most_difference
            ? fmt::format("(d-1)h, the read errors to expect in a rebuild, is {:.3g} and not well under 1",
                          errors)
            : "repairs are not much faster than failures, or members are unlike"));
  }
  if (chain.approximate) {
    out.notes.emplace_back(
        "too many states for the exact chain: nested members count as disks that live as long as "
        "they do in the mean");
  }
  if (context.options.given("lifetime")) {
    const Lifetime within =
        lost_within(layout, disk, bytes, context.options.duration("lifetime").in_seconds());
    out.loss = within.loss;
    if (within.exponential) {
      out.notes.emplace_back(
          "too many states for the chain's distribution: the probability is that of an "
          "exponential life");
    }
  }
  if (context.options.given("simulate")) {
    out.simulation = run_simulation(context, layout, disk, bytes);
    if (out.simulation->endless) {
      out.notes.emplace_back(
          "not simulated: some of so many disks are broken at any time, and no cycle ends");
    } else if (!out.simulation->estimate) {
      out.notes.emplace_back("no loss came up in the simulation; give more trials");
    }
  }
  return out;
}

Json json_of(const Context& context, const Place& place, const DiskModel& disk, std::uint64_t bytes,
             const Answer& answer) {
  const bool is_safe = survives_one(*place.layout);
  const auto known = [&](double value) {
    return number_or_null(answer.reliable ? std::optional(value) : std::nullopt);
  };
  const auto simulated = [&](double Simulation::Estimate::*part) {
    const bool is_known = answer.simulation && answer.simulation->estimate;
    return number_or_null(is_known ? std::optional((*answer.simulation->estimate).*part) : std::nullopt);
  };
  Json out;
  out["layout"] = print(*place.layout);
  out["place"] = place.name.empty() ? Json() : Json(place.name);
  out["size"] = bytes;
  out["mttf"] = (*place.mttf).in_seconds();
  out["mttr"] = (*place.mttr).in_seconds();
  out["ber"] = *place.ber;
  out["ecc"] = *place.ecc_bits;
  out["sector_bits"] = *place.sector_bits;
  out["uber"] = disk.uber;
  out["reliable"] = answer.reliable;
  out["mttdl"] = {{"closed", known(answer.closed)},
                  {"exact", known(answer.exact)},
                  {"simulated", simulated(&Simulation::Estimate::mttdl)},
                  {"simulated_low", simulated(&Simulation::Estimate::low)},
                  {"simulated_high", simulated(&Simulation::Estimate::high)}};
  out["rebuild_errors"] = is_safe ? Json(rebuild_errors(*place.layout, disk, bytes)) : Json();
  out["read_errors"] = is_safe ? Json() : Json(read_errors(disk, bytes));
  out["trials"] = context.options.given("simulate") ? Json(context.options.count("simulate")) : Json();
  out["importance_sampling"] = answer.simulation ? Json(answer.simulation->biased) : Json();
  out["lifetime"] =
      context.options.given("lifetime") ? Json(context.options.duration("lifetime").in_seconds()) : Json();
  out["loss_probability"] = number_or_null(answer.loss);
  out["notes"] = answer.notes;
  return out;
}

std::string fitted(const std::string& text, const Style& style) {
  return style.width > 0 ? wrap(text, style.width, 0) : text + "\n";
}

std::string text_of(const Context& context, const Place& place, const DiskModel& disk, std::uint64_t bytes,
                    const Answer& answer) {
  const bool is_safe = survives_one(*place.layout);
  const std::string data = human_size(bytes);
  std::string out;
  if (!place.name.empty()) {
    out += fmt::format("place    {}\n", place.name);
  }
  out += fmt::format("layout   {}\n", print(*place.layout));
  out +=
      fmt::format("disks    MTTF {}{}, repair {}, UBER {:.3g}\n", print(*place.mttf),
                  place.mttf.source == Source::fallback ? " (assumed)" : "", print(*place.mttr), disk.uber);
  out += fmt::format("data     {}\n", data);
  if (answer.reliable) {
    Table table({{.title = "MTTDL"},
                 {.title = "TIME", .align = Align::right},
                 {.title = "LOW", .align = Align::right, .drop = 1},
                 {.title = "HIGH", .align = Align::right, .drop = 1},
                 {.title = "METHOD", .shrink = Shrink::end}});
    table.add({"closed", human_duration(answer.closed), "", "", is_safe ? "Eq. 2" : "MTTF / disks"});
    table.add({"exact", human_duration(answer.exact), "", "", "Markov chain"});
    if (answer.simulation && answer.simulation->estimate) {
      const auto& estimate = *answer.simulation->estimate;
      table.add({"simulated", human_duration(estimate.mttdl), human_duration(estimate.low),
                 human_duration(estimate.high),
                 fmt::format("{} trials{}, 95 % sure", context.options.text("simulate"),
                             answer.simulation->biased ? " by importance sampling" : "")});
    }
    out += "\n" + table.print(context.style) + "\n";
    out += fitted(fmt::format("On average {} are lost after {}.", data, human_duration(answer.exact)),
                  context.style);
  } else {
    out += "\n";
  }
  if (answer.loss) {
    out += fitted(fmt::format("The probability of loss within {} is {:.3g}.",
                              print(context.options.duration("lifetime")), *answer.loss),
                  context.style);
  }
  if (!is_safe) {
    out += fitted(fmt::format("One read of all of it meets {:.3g} uncorrectable bit errors in the mean.",
                              read_errors(disk, bytes)),
                  context.style);
  }
  for (const std::string& note : answer.notes) {
    out += fitted("note: " + note, context.style);
  }
  return out;
}

// From 1 MiB to 1 PiB, two points a doubling.
std::string chart_of(const Place& place, const DiskModel& disk, std::uint64_t bytes, const Answer& answer) {
  constexpr double year = 365 * 86400.0;
  Series closed{.name = "closed form (Eq. 2)", .points = {}};
  Series exact{.name = "exact Markov chain", .points = {}};
  for (int halves = 20 * 2; halves <= 50 * 2; ++halves) {
    const auto held = static_cast<std::uint64_t>(std::exp2(halves / 2.0));
    const auto x = static_cast<double>(held);
    closed.points.push_back({.x = x, .y = mttdl(*place.layout, disk, held) / year});
    exact.points.push_back({.x = x, .y = mean_time(chain_of(*place.layout, disk, held)) / year});
  }
  Chart out{.title = fmt::format("Mean time to data loss on {}", print(*place.layout)),
            .x = {.title = "size of the data", .unit = Unit::bytes, .logarithmic = true},
            .y = {.title = "years", .unit = Unit::number, .logarithmic = true},
            .series = {std::move(closed), std::move(exact)}};
  if (answer.simulation && answer.simulation->estimate) {
    out.series.push_back(
        {.name = "simulated",
         .points = {{.x = static_cast<double>(bytes), .y = answer.simulation->estimate->mttdl / year}},
         .markers = true});
  }
  return draw(out);
}

Result<Output> run(const Context& context) {
  if (context.options.given("seed") && !context.options.given("simulate")) {
    return bad_input("--seed has no meaning without --simulate");
  }
  SLUICE_TRY(const Place place, read_place(context));
  SLUICE_TRY(const std::uint64_t bytes, read_size(context, place));
  const DiskModel disk{.mttf = (*place.mttf).in_seconds(),
                       .mttr = (*place.mttr).in_seconds(),
                       .uber = uber(*place.ber, *place.sector_bits, *place.ecc_bits)};
  const Answer answer = answer_of(context, place, disk, bytes);
  if (const std::string file = context.options.text("chart"); !file.empty()) {
    if (!answer.reliable) {
      return fail("there is no curve to draw", answer.notes.front());
    }
    SLUICE_CHECK(write_file(file, chart_of(place, disk, bytes, answer)));
  }
  Output out;
  if (context.json) {
    out.json = json_of(context, place, disk, bytes, answer);
  } else {
    out.text = text_of(context, place, disk, bytes, answer);
  }
  return out;
}

std::vector<Section> sections() {
  return {Section{.title = "Layouts",
                  .rows = {{"single", "one disk"},
                           {"raid0:N", "N disks, no redundancy"},
                           {"raid1:N, replica:N", "N copies"},
                           {"raid4:N, raid5:N, raid6:N", "N disks, of which one or two hold parity"},
                           {"raid10:N", "N/2 mirrored pairs"},
                           {"mds:N+M", "N data and M parity pieces of any such code"},
                           {"raid0(raid5:5,raid5:5)",
                            "nested: members that are layouts; this one is RAID 50 of ten disks"}}}};
}

}  // namespace

extern const Verb verb_reliability = {
    .name = "reliability",
    .summary = "how long data lasts on disks that fail, and how likely it is lost",
    .operands = "[PLACE]",
    .least_operands = 0,
    .most_operands = 1,
    .description =
        "Gives the mean time to data loss (MTTDL) of a layout, or of a place with the numbers that `sluice "
        "places` shows for it and that options override: by the closed form (Eq. 2 of IOSIG), by the exact "
        "Markov chain that it simplifies, and with --simulate by drawing failures, repairs and read errors. "
        "Without a place, what is not given is two mirrored disks with an MTTF of 10y, repaired within 1d, "
        "and "
        "1T of data.\n\n"
        "Disks fail independently and are repaired one at a time in each group. Each member of a redundant "
        "group "
        "counts as holding all the data, as in Eq. 2; members of raid0 share it. The rebuild after the last "
        "failure that a group can bear reads all that is left, and an uncorrectable bit error in it is a "
        "loss. "
        "The closed form needs (d-1)h, the errors to expect in a rebuild, to be well under 1.\n\n"
        "Without redundancy there is no rebuild: MTTF divided by the number of disks, and the errors that "
        "one "
        "read of everything meets. A default MTTF is not enough for that; it must be stated.",
    .options = rows,
    .examples = examples,
    .sections = sections,
    .run = run,
};

}  // namespace sluice
