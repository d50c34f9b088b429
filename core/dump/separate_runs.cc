// Evidence from names first; then the one division by time that contradicts nothing.
#include "core/dump/separate_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/dump/stage_order.h"

namespace hloscope::dump {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::string PassText(std::string_view stage) {
  const StepName step = ParseStep(stage);
  return fmt::format("{} of {}", step.pass, step.pipeline);
}

bool IsResult(std::string_view stage) { return stage.ends_with("after_optimizations"); }

class Runs {
 public:
  explicit Runs(std::span<const WrittenFile> files) : files_(files) {
    for (const WrittenFile& f : files) {
      if (f.stage.empty()) continue;
      const int64_t number = ParseStep(f.stage).number;
      if (number >= 0) steps_[number].insert(f.stage);
      if (IsResult(f.stage)) results_.insert(f.stage);
      if (PhaseOf(f.stage) == StagePhase::kInput) begin_ = std::min(begin_, f.modified_ns);
    }
  }

  SeparatedRuns Separate() const {
    SeparatedRuns out;
    out.evidence = Repetition();
    std::vector<int32_t> earlier;
    for (const WrittenFile& f : files_) {
      if (begin_ != kNever && f.modified_ns < begin_) earlier.push_back(f.file);
    }
    if (!earlier.empty() && IsOneCompilation(out.evidence.empty())) {
      if (out.evidence.empty()) out.evidence = "steps are older than the module they begin with";
      out.earlier = std::move(earlier);
    } else {
      out.is_mixed = !out.evidence.empty();
    }
    return out;
  }

 private:
  // The first number or result that one compilation cannot have written.
  std::string Repetition() const {
    for (const auto& [number, names] : steps_) {
      if (names.size() > 1) {
        return fmt::format("step {:04} is both {} and {}", number, PassText(*names.begin()),
                           PassText(*std::next(names.begin())));
      }
    }
    if (results_.size() < 2) return {};
    return fmt::format("there are both {} and {}", *results_.begin(), *std::next(results_.begin()));
  }

  // Whether what was written since the input is one compilation, step after step up to its result.
  // `by_time_alone`: no name repeats, so that the older files must follow all of its steps.
  bool IsOneCompilation(bool by_time_alone) const {
    struct Step {
      std::string_view stage;
      int64_t first = kNever, last = 0;  // times of its files
    };
    std::map<int64_t, Step> own;
    int64_t result = kNever, oldest_number = kNever;
    for (const WrittenFile& f : files_) {
      const int64_t number = f.stage.empty() ? -1 : ParseStep(f.stage).number;
      const bool is_own = f.modified_ns >= begin_;
      if (is_own && IsResult(f.stage)) result = std::min(result, f.modified_ns);
      if (number < 0) continue;
      if (!is_own) {
        oldest_number = std::min(oldest_number, number);
        continue;
      }
      Step& step = own[number];
      if (!step.stage.empty() && step.stage != f.stage) return false;
      step.stage = f.stage;
      step.first = std::min(step.first, f.modified_ns);
      step.last = std::max(step.last, f.modified_ns);
    }
    if (own.empty()) return false;
    if (by_time_alone && (oldest_number == kNever || oldest_number <= own.rbegin()->first))
      return false;
    int64_t before = begin_;
    for (const auto& [number, step] : own) {
      if (step.first < before) return false;
      before = step.last;
    }
    return result >= before;
  }

  std::span<const WrittenFile> files_;
  std::map<int64_t, std::set<std::string_view>> steps_;  // names by number
  std::set<std::string_view> results_;
  int64_t begin_ = kNever;  // when the input was written
};

}  // namespace

SeparatedRuns SeparateRuns(std::span<const WrittenFile> files) { return Runs(files).Separate(); }

}  // namespace hloscope::dump
