#include "lab/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/json.h"
#include "base/text.h"

namespace sluice::lab {
namespace {

constexpr std::size_t kept_buffers = 64;
constexpr std::array<std::string_view, 4> op_names = {"read", "write", "flush", "discard"};

}  // namespace

Device::Device(const Model& model, std::unique_ptr<Platter> platter)
    : model_(model),
      timing_(model, platter->size()),
      platter_(std::move(platter)),
      faults_(static_cast<std::uint64_t>(model.seed)) {}

void Device::read(std::uint64_t id, std::uint64_t offset, std::uint64_t length, Instant now) {
  Pending pending{.answer = {.id = id, .op = Op::read, .length = length}};
  if (!dead_) {
    const Verdict verdict = faults_.judge(Op::read, offset, length);
    pending.delay = verdict.delay;
    pending.answer.error = verdict.error;
    if (verdict.error == 0) {
      pending.answer.data = buffer(length);
      pending.answer.error = platter_->read(offset, pending.answer.data);
    }
  }
  begin(std::move(pending), offset, now);
}

void Device::write(std::uint64_t id, std::uint64_t offset, ConstBytes data, Instant now) {
  Pending pending{.answer = {.id = id, .op = Op::write, .length = data.size()}};
  if (!dead_) {
    const Verdict verdict = faults_.judge(Op::write, offset, data.size());
    pending.delay = verdict.delay;
    pending.answer.error = verdict.error;
    pending.power_cut = verdict.power_cut;
    if (verdict.keep) {
      // The part that got through is on the medium; that is what makes a torn write bad.
      const int error = platter_->write(offset, data.first(*verdict.keep), true);
      pending.answer.error = error != 0 ? error : verdict.torn_error;
    } else if (verdict.error == 0) {
      pending.answer.error = platter_->write(offset, data, safe_at_once());
    }
  }
  begin(std::move(pending), offset, now);
}

void Device::flush(std::uint64_t id, Instant now) {
  Pending pending{.answer = {.id = id, .op = Op::flush}};
  if (!dead_) {
    const Verdict verdict = faults_.judge(Op::flush, 0, 0);
    pending.delay = verdict.delay;
    pending.answer.error = verdict.error;
    if (verdict.error == 0) {
      pending.answer.error = platter_->flush();
    }
  }
  begin(std::move(pending), 0, now);
}

void Device::discard(std::uint64_t id, std::uint64_t offset, std::uint64_t length, Instant now) {
  Pending pending{.answer = {.id = id, .op = Op::discard, .length = length}};
  if (begin_dead(pending, now)) {
    return;
  }
  const Verdict verdict = faults_.judge(Op::discard, offset, length);
  pending.answer.error = verdict.error != 0 ? verdict.error : platter_->discard(offset, length);
  if (verdict.delay > Instant::zero()) {
    late_.push({.id = id, .at = now + verdict.delay});
    pending_.emplace(id, std::move(pending));
  } else {
    answer_or_hold(std::move(pending.answer));
  }
}

// Counts the request; true when there is no power, and it has its answer.
bool Device::begin_dead(Pending& pending, Instant now) {
  Count& count = counts_[static_cast<std::size_t>(pending.answer.op)];
  ++count.requests;
  count.bytes += pending.answer.length;
  pending.answer.due = now;
  if (dead_) {
    pending.answer.error = EIO;
    ready_.push_back(std::move(pending.answer));
  }
  return dead_;
}

void Device::begin(Pending pending, std::uint64_t offset, Instant now) {
  if (begin_dead(pending, now)) {
    return;
  }
  const Answer& answer = pending.answer;
  timing_.submit(answer.id, answer.op, offset, answer.length, now);
  pending_.emplace(answer.id, std::move(pending));
}

void Device::answer_or_hold(Answer answer) {
  (faults_.hangs(answer.op) ? held_ : ready_).push_back(std::move(answer));
}

bool Device::next(Instant now, Answer& out) {
  for (;;) {
    if (!ready_.empty()) {
      out = std::move(ready_.back());
      ready_.pop_back();
      counts_[static_cast<std::size_t>(out.op)].errors += out.error != 0 ? 1 : 0;
      return true;
    }
    std::optional<Timing::Done> done;
    if (!late_.empty() && late_.top().at <= now) {
      done = late_.top();
      late_.pop();
    } else if ((done = timing_.next(now))) {
      Pending& pending = pending_.at(done->id);
      if (pending.delay > Instant::zero()) {
        late_.push({.id = done->id, .at = done->at + pending.delay});
        pending.delay = {};
        continue;
      }
    } else {
      return false;
    }
    const auto found = pending_.find(done->id);
    Pending pending = std::move(found->second);
    pending_.erase(found);
    pending.answer.due = done->at;
    if (pending.power_cut) {
      ready_.push_back(std::move(pending.answer));
      power_cut(0, now);
    } else {
      answer_or_hold(std::move(pending.answer));
    }
  }
}

Instant Device::next_event() const {
  if (!ready_.empty()) {
    return Instant::zero();
  }
  return std::min(timing_.next_event(), late_.empty() ? never : late_.top().at);
}

void Device::power_cut(double survive, Instant now) {
  dead_ = true;
  ++power_cuts_;
  faults_.power_gone();
  for (auto& [id, pending] : pending_) {
    held_.push_back(std::move(pending.answer));
  }
  pending_.clear();
  late_ = {};
  timing_.forget();
  for (Answer& answer : held_) {
    answer.error = EIO;
    answer.due = now;
    ready_.push_back(std::move(answer));
  }
  held_.clear();
  // A store that fails now leaves more than it should, never less; nothing could be done about it.
  model_.volatile_ != 0 ? platter_->wipe() : platter_->power_cut(survive, faults_.random());
}

Status Device::set_model(const Model& model, Instant now) {
  if (model.cache <= 0 && !safe_at_once() && !dead_) {
    if (const int error = platter_->flush(); error != 0) {
      return fail(error, "cannot empty the cache");
    }
  }
  model_ = model;
  timing_.change(model, now);
  return {};
}

void Device::reset_counts() {
  std::fill(std::begin(counts_), std::end(counts_), Count{});
}

std::vector<std::byte> Device::buffer(std::uint64_t length) {
  std::vector<std::byte> out;
  if (!buffers_.empty()) {
    out = std::move(buffers_.back());
    buffers_.pop_back();
  }
  out.resize(length);
  return out;
}

void Device::recycle(std::vector<std::byte> buffer) {
  if (buffer.capacity() > 0 && buffers_.size() < kept_buffers) {
    buffers_.push_back(std::move(buffer));
  }
}

Result<Json> Device::command(std::string_view line, Instant now) {
  const auto words = split_blanks(line);
  if (!words.empty() && words[0] == "set") {
    Model changed = model_;
    for (std::size_t i = 1; i < words.size(); ++i) {
      SLUICE_CHECK(set_field(changed, words[i]));
    }
    SLUICE_CHECK(check(changed));
    SLUICE_CHECK(set_model(changed, now));
  } else if (words.size() != 1 || words[0] != "status") {
    SLUICE_TRY(const Faults::Told told, faults_.tell(line));
    if (told.action == Faults::Action::power_cut && !dead_) {
      power_cut(told.survive, now);
    } else if (told.action == Faults::Action::revive) {
      dead_ = false;
    } else if (told.action == Faults::Action::release || told.action == Faults::Action::clear) {
      for (Answer& answer : held_) {
        answer.due = now;
        ready_.push_back(std::move(answer));
      }
      held_.clear();
    }
    if (told.action == Faults::Action::clear) {
      for (auto& [id, pending] : pending_) {
        pending.delay = {};
      }
      for (; !late_.empty(); late_.pop()) {
        const auto found = pending_.find(late_.top().id);
        found->second.answer.due = now;
        ready_.push_back(std::move(found->second.answer));
        pending_.erase(found);
      }
    }
  }
  return status();
}

Json Device::status() const {
  Json requests;
  for (std::size_t i = 0; i < op_names.size(); ++i) {
    requests[std::string(op_names[i])] = {
        {"requests", counts_[i].requests}, {"bytes", counts_[i].bytes}, {"errors", counts_[i].errors}};
  }
  return {{"kind", "device"},
          {"size", platter_->size()},
          {"state", dead_ ? "dead" : "alive"},
          {"faults", faults_.json()},
          {"power_cuts", power_cuts_},
          {"unflushed", platter_->unsafe()},
          {"cached", timing_.cached()},
          {"waiting", pending_.size() + held_.size()},
          {"overhead", std::chrono::duration<double>(timing_.overhead()).count()},
          {"served", std::move(requests)},
          {"model", model_json(model_)}};
}

}  // namespace sluice::lab
