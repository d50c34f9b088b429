// Trying candidates in order on several threads.
#include "core/debug/reduce/search.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "core/debug/reduce/combiner_sense.h"
#include "core/debug/reduce/device_sense.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::debug {
namespace {

// Tries behind the one that was taken get as long as that took, within these bounds, to end by
// themselves: a worker that is stopped has to be started again.
constexpr std::chrono::milliseconds kMinGrace{300}, kMaxGrace{1500};

constexpr int64_t kMaxBytes = int64_t{1} << 30;  // of values that are kept

// Those of the entry; none where their values are too many to be kept.
std::vector<hlo::InstructionId> InstructionsWithValues(const hlo::Module& module) {
  std::vector<hlo::InstructionId> all;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < module.entry().instruction_count; ++i) {
    const hlo::InstructionId id(module.entry().first_instruction + i);
    const hlo::Opcode opcode = module[id].opcode;
    if (opcode == hlo::Opcode::kParameter || opcode == hlo::Opcode::kConstant) continue;
    bytes += std::min(module.shape(id).ByteSize().value_or(kMaxBytes), kMaxBytes);
    if (bytes > kMaxBytes) return {};
    all.push_back(id);
  }
  return all;
}

}  // namespace

// What came of a row of candidates.
struct Search::Outcome {
  std::mutex mutex;
  std::condition_variable changed;
  size_t next = 0, running = 0;
  size_t winner = 0;                             // the number of candidates: none yet
  std::vector<std::optional<uint64_t>> counted;  // by number: the fingerprint, where it was tried
  Candidate candidate;
  Failure failure;
  CandidateSize size;
  std::chrono::milliseconds grace = kMaxGrace;
};

Search::Search(Candidate first, Failure failure, Try attempt, RunValues source,
               SearchOptions options)
    : best_(std::move(first)),
      failure_(std::move(failure)),
      size_(SizeOf(best_)),
      is_true_of_devices_(IsTrueOfDevices(*best_.module)),
      combines_both_(CombinesBoth(*best_.module)),
      attempt_(std::move(attempt)),
      source_(std::move(source)),
      options_(std::move(options)) {
  known_.emplace(FingerprintOf(best_), std::nullopt);
}

bool Search::IsSound(const Candidate& candidate) const {
  if (is_true_of_devices_ && !IsTrueOfDevices(*candidate.module)) return false;
  if (combines_both_ && !CombinesBoth(*candidate.module)) return false;
  if (!options_.verify) return true;
  const auto found = hlo::Verify(*candidate.module, {false, options_.limits});
  return std::ranges::none_of(
      found, [](const hlo::Diagnostic& d) { return d.severity == hlo::Severity::kError; });
}

std::optional<Failure> Search::Attempt(const Candidate& candidate, const std::stop_token& stop,
                                       std::optional<uint64_t>& counted) {
  const uint64_t fingerprint = FingerprintOf(candidate);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(fingerprint); known != known_.end()) {
      counted = fingerprint;
      return known->second;
    }
  }
  if (!IsSound(candidate)) return std::nullopt;
  counted = fingerprint;
  std::optional<Failure> failure = attempt_(candidate, stop);
  const std::lock_guard lock(mutex_);
  ++tries_;
  if (!stop.stop_requested()) known_.emplace(fingerprint, failure);
  if (options_.on_progress) options_.on_progress({reduction_, size_.instructions, tries_});
  return failure;
}

void Search::TryOne(const Maker& make, Need need, size_t number, const std::stop_token& stop,
                    Outcome& outcome) {
  std::optional<Candidate> candidate = make(number);
  if (!candidate || stop.stop_requested()) return;
  const CandidateSize size = SizeOf(*candidate);
  if (need == Need::kSmaller && size >= size_) return;
  if (need == Need::kNotLarger && size > size_) return;
  const auto start = std::chrono::steady_clock::now();
  std::optional<Failure> failure = Attempt(*candidate, stop, outcome.counted[number]);
  if (!failure || stop.stop_requested() || !IsNoOtherFailure(failure_, *failure)) return;
  const std::lock_guard lock(outcome.mutex);
  if (number >= outcome.winner) return;
  outcome.winner = number;
  outcome.grace = std::clamp(
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start),
      kMinGrace, kMaxGrace);
  outcome.candidate = *std::move(candidate);
  outcome.failure = *std::move(failure);
  outcome.size = size;
}

std::optional<size_t> Search::First(size_t count, const Maker& make, Need need) {
  if (stopped() || count == 0) return std::nullopt;
  Outcome outcome;
  outcome.winner = count;
  outcome.counted.resize(count);
  std::vector<std::stop_source> stops(count);
  const auto work = [&] {
    std::unique_lock lock(outcome.mutex);
    while (outcome.next < outcome.winner && !stopped()) {
      const size_t number = outcome.next++;
      ++outcome.running;
      lock.unlock();
      TryOne(make, need, number, stops[number].get_token(), outcome);
      lock.lock();
      --outcome.running;
      outcome.changed.notify_all();
    }
  };
  const std::stop_callback on_stop(options_.stop, [&] {
    for (std::stop_source& stop : stops) stop.request_stop();
  });
  {
    std::vector<std::jthread> threads;
    const size_t helpers = std::min(count, static_cast<size_t>(std::max(options_.jobs, 1)));
    for (size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
    std::unique_lock lock(outcome.mutex);
    const auto over = [&] {
      return outcome.running == 0 && (outcome.next >= outcome.winner || stopped());
    };
    outcome.changed.wait(lock, [&] { return over() || outcome.winner < count; });
    while (!outcome.changed.wait_for(lock, outcome.grace, over)) {
      for (size_t i = outcome.winner + 1; i < outcome.next; ++i) stops[i].request_stop();
    }
  }
  for (size_t i = 0; i < std::min(outcome.winner + 1, count); ++i) {
    if (outcome.counted[i]) counted_.insert(*outcome.counted[i]);
  }
  if (outcome.winner == count) return std::nullopt;
  best_ = std::move(outcome.candidate);
  // What it shows no longer, it may not show again.
  std::vector<std::string> shared;
  std::ranges::set_intersection(failure_.classes, outcome.failure.classes,
                                std::back_inserter(shared));
  failure_ = std::move(outcome.failure);
  failure_.classes = std::move(shared);
  size_ = outcome.size;
  if (options_.on_better) options_.on_better(best_, failure_);
  return outcome.winner;
}

bool Search::RemoveChunks(const Count& count, const Without& without, Need need,
                          size_t most_pieces) {
  bool thinner = false;
  most_pieces = std::min(most_pieces, most_pieces_);
  size_t sites = count(best_);
  for (size_t chunk = sites; chunk > 0 && chunk >= sites / most_pieces && !stopped(); chunk /= 2) {
    for (size_t at = 0; at < sites;) {
      const Candidate from = best_;
      const auto make = [&](size_t i) {
        const size_t begin = at + i * chunk;
        return without(from, begin, std::min(begin + chunk, sites));
      };
      const auto taken = First((sites - at + chunk - 1) / chunk, make, need);
      if (!taken) break;
      thinner = true;
      at += *taken * chunk;
      sites = count(best_);
    }
    chunk = std::min(chunk, sites);
  }
  return thinner;
}

KnownValues Search::ValuesOf(const Candidate& candidate,
                             std::span<const hlo::InstructionId> wanted) {
  if (!source_.values) return {};
  const std::vector<hlo::InstructionId> all = InstructionsWithValues(*candidate.module);
  if (all.empty()) return source_.values(candidate, wanted);
  const std::lock_guard lock(values_mutex_);
  if (values_of_ != candidate.module) {
    values_ = source_.values(candidate, all);
    values_of_ = candidate.module;
  }
  KnownValues values;
  for (const hlo::InstructionId id : wanted) {
    const auto known = values_.find(id.index);
    if (known != values_.end()) values.insert(*known);
  }
  return values;
}

std::vector<hlo::Literal> Search::ArgumentsOf(hlo::ComputationId computation,
                                              int64_t execution) const {
  if (!source_.arguments) return {};
  return source_.arguments(best_, computation, execution);
}

hlo::InstructionId Search::Suspect() const {
  return source_.suspect ? source_.suspect(best_, failure_) : hlo::InstructionId();
}

int64_t Search::ExecutionsOf(hlo::ComputationId computation) const {
  return source_.executions ? source_.executions(best_, computation) : 1;
}

}  // namespace hloscope::debug
