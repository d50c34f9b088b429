// Search: tries smaller and smaller candidates, several at a time, and keeps the smallest that
// still fails as the first one did. What it finds depends on candidates and tries alone, not on how
// many run at once: of several that fail, the first in order is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/debug/reduce/candidate.h"
#include "core/debug/run/failure.h"

namespace hloscope::debug {

// How a candidate fails; nullopt where it does not, or where it was stopped. Called from several
// threads.
using Try = std::function<std::optional<Failure>(const Candidate&, const std::stop_token&)>;

// Values of instructions, by id.
using KnownValues = std::map<uint32_t, hlo::Literal>;

// Where values of a candidate's instructions come from; each may be null.
struct RunValues {
  // Of these instructions of the entry, as far as they are known.
  std::function<KnownValues(const Candidate&, std::span<const hlo::InstructionId>)> values;
  // Of the parameters of a computation in its execution of that number, from 0; empty where there
  // is none.
  std::function<std::vector<hlo::Literal>(const Candidate&, hlo::ComputationId, int64_t)> arguments;
  // The instruction of the entry that fails by itself, as far as it is known; invalid: it is not.
  std::function<hlo::InstructionId(const Candidate&, const Failure&)> suspect;
  // How often it is executed.
  std::function<int64_t(const Candidate&, hlo::ComputationId)> executions;
};

struct SearchProgress {
  std::string_view reduction;
  size_t instructions = 0;
  int64_t tries = 0;
};

struct SearchOptions {
  int jobs = 1;        // tries at a time
  bool verify = true;  // try only what the verifier finds sound
  int64_t most_tries =
      0;  // no reduction begins behind so many, as one job counts them; 0: no bound
  Limits limits;
  std::stop_token stop;
  std::function<void(const Candidate&, const Failure&)> on_better;  // each that becomes the best
  std::function<void(const SearchProgress&)> on_progress;           // after each try
};

class Search {
 public:
  // `first` fails as `failure` says.
  Search(Candidate first, Failure failure, Try attempt, RunValues source, SearchOptions options);

  const Candidate& best() const { return best_; }
  const Failure& failure() const { return failure_; }
  CandidateSize size() const { return size_; }
  int64_t tries() const { return tries_; }
  bool stopped() const {
    const bool had_enough =
        options_.most_tries > 0 && std::cmp_greater_equal(counted_.size(), options_.most_tries);
    return had_enough || options_.stop.stop_requested();
  }
  void set_reduction(std::string_view name) { reduction_ = name; }
  // No RemoveChunks takes sites in more pieces than that.
  void set_most_pieces(size_t pieces) { most_pieces_ = pieces; }

  // A candidate by number; nullopt where there is none of that number.
  using Maker = std::function<std::optional<Candidate>(size_t)>;
  // A candidate has to be smaller than the best one, or at least no larger; of any size only where
  // the number of steps is bounded otherwise.
  enum class Need : uint8_t { kSmaller, kNotLarger, kAnySize };

  // Tries candidates 0 … count - 1: the first that fails as the best does becomes the best; its
  // number. `make` is called from several threads.
  std::optional<size_t> First(size_t count, const Maker& make, Need need = Need::kSmaller);

  // Takes away as many sites as can be: all at once, then halves, quarters … and single ones, or
  // until there are `most_pieces`.
  // `count` says how many sites a candidate has, `without` makes the one without some of them.
  // True if something could be taken away.
  using Count = std::function<size_t(const Candidate&)>;
  using Without =
      std::function<std::optional<Candidate>(const Candidate&, size_t begin, size_t end)>;
  bool RemoveChunks(const Count& count, const Without& without, Need need = Need::kSmaller,
                    size_t most_pieces = SIZE_MAX);

  // Values of these instructions of a candidate's entry, as far as they are known. Of the best
  // candidate all are kept where they are not too many; from any thread.
  KnownValues ValuesOf(const Candidate& candidate, std::span<const hlo::InstructionId> wanted);
  std::vector<hlo::Literal> ArgumentsOf(hlo::ComputationId computation, int64_t execution) const;
  int64_t ExecutionsOf(hlo::ComputationId computation) const;
  // Of the best candidate.
  hlo::InstructionId Suspect() const;

 private:
  struct Outcome;
  void TryOne(const Maker& make, Need need, size_t number, const std::stop_token& stop,
              Outcome& outcome);
  // `counted` is left empty where it is not worth a try.
  std::optional<Failure> Attempt(const Candidate& candidate, const std::stop_token& stop,
                                 std::optional<uint64_t>& counted);
  bool IsSound(const Candidate& candidate) const;

  Candidate best_;
  Failure failure_;
  CandidateSize size_;
  bool is_true_of_devices_;  // and so has to be every candidate
  bool combines_both_;       // the same
  Try attempt_;
  RunValues source_;
  SearchOptions options_;
  std::string_view reduction_;
  size_t most_pieces_ = SIZE_MAX;
  std::mutex mutex_;  // of the next two, and of on_progress
  std::unordered_map<uint64_t, std::optional<Failure>> known_;
  int64_t tries_ = 0;
  // Candidates up to each that was taken: what else was tried beside these is by chance.
  std::unordered_set<uint64_t> counted_;
  std::mutex values_mutex_;
  KnownValues values_;  // of values_of_, all of them
  std::shared_ptr<const hlo::Module> values_of_;
};

}  // namespace hloscope::debug
