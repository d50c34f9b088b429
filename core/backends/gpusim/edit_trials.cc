// Edits tried one by one on the block of the worst element, the best then on all blocks.
#include "core/backends/gpusim/edit_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "core/backends/gpusim/edit_bench.h"
#include "core/base/jobs.h"

namespace hloscope::replay {
namespace {

// Instructions of threads that all runs of a search may take; reading a kernel counts as so many,
// putting back memory as one for every 16 bytes.
constexpr uint64_t kMaxWork = 2'000'000'000, kReading = 200'000, kBytesOfOne = 16;
// Edits that run with all blocks: as many as take this work, within these bounds.
constexpr uint64_t kMaxConfirmWork = 1'000'000'000;
constexpr size_t kMinConfirmed = 4, kMaxConfirmed = 256;
constexpr size_t kMaxOfLine = 4, kMaxGiven = 12;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr uint64_t kNever = EditBench::kNever;
constexpr size_t kBehind = 1 << 24;  // in the order of lines
constexpr uint32_t kBeside = 3;      // lines

bool ComputesFloats(std::string_view text, const ptx::LineEdit& edit) {
  const std::string_view rest = text.substr(edit.statement);
  const std::string_view statement = rest.substr(0, rest.find(';'));
  if (statement.find('[') != std::string_view::npos) return false;
  for (const std::string_view type : {".f16", ".bf16", ".f32", ".f64"}) {
    if (statement.find(type) != std::string_view::npos) return true;
  }
  return false;
}

class Search {
 public:
  Search(EditBench& bench, const EditTrials& trials, int threads)
      : bench_(bench), trials_(trials), threads_(threads) {}

  Result<EditAnswer> Run() {
    EditAnswer answer;
    HLOSCOPE_TRY(bench_.Begin());
    if (bench_.was_wrong() == 0) return answer;
    MakeEdits();
    TryLevel(0);
    TryLevel(1);
    // Where one line is right a number of one beside it may be meant: sums that are compared.
    TryLevel(2, RightLines());
    if (!HasRight()) TryLevel(3);
    std::vector<Trial*> best = BestOfLines();
    if (bench_.is_of_block() && bench_.work() * bench_.Blocks() <= kMaxConfirmWork)
      answer.is_only_block = Confirm(best);
    answer.edits = Given(best);
    return answer;
  }

 private:
  struct Trial {
    size_t subject = 0;
    ptx::LineEdit edit;
    size_t order = 0;  // of its line
    uint64_t wrong = kNever;
  };

  void MakeEdits() {
    std::map<std::pair<std::string, uint32_t>, size_t> orders;
    for (const auto& line : trials_.lines) orders.try_emplace(line, orders.size());
    for (size_t s = 0; s < bench_.subjects().size(); ++s) {
      const EditBench::Subject& subject = bench_.subjects()[s];
      for (ptx::LineEdit& edit : ptx::LineEditsOf(subject.module, subject.kernel, trials_.sizes)) {
        const auto order = orders.find({subject.kernel, edit.line});
        size_t place = order == orders.end() ? orders.size() + edit.line : order->second;
        // What is not stored is missed by an address, a bound or a guard, not by a value.
        if (trials_.is_missing && ComputesFloats(subject.module.text(), edit)) place += kBehind;
        tried_.push_back({s, std::move(edit), place});
      }
    }
    std::ranges::stable_sort(
        tried_, {}, [](const Trial& trial) { return std::pair(trial.edit.level, trial.order); });
  }

  using Line = std::pair<size_t, uint32_t>;  // subject, line

  std::set<Line> RightLines() const {
    std::set<Line> lines;
    for (const Trial& trial : tried_) {
      if (trial.wrong == 0) lines.emplace(trial.subject, trial.edit.line);
    }
    return lines;
  }
  bool HasRight() const { return !RightLines().empty(); }

  static bool IsBeside(const Trial& trial, const std::set<Line>& lines) {
    const uint32_t line = trial.edit.line;
    const auto at = lines.lower_bound({trial.subject, line - std::min(line, kBeside)});
    return at != lines.end() && at->first == trial.subject && at->second <= line + kBeside;
  }

  // As many as there is work left for, the most suspect lines first; of `beside`, unless it is
  // empty, lines that are near one of them.
  void TryLevel(uint32_t level, const std::set<Line>& beside = {}) {
    std::vector<Trial*> todo;
    for (Trial& trial : tried_) {
      if (trial.edit.level != level) continue;
      if (!beside.empty() && !IsBeside(trial, beside)) continue;
      const uint64_t costs = (bench_.work() + kReading + bench_.BytesPutBack(level) / kBytesOfOne) *
                             (trial.edit.is_float ? kFloatRuns : 1);
      if (spent_ + costs > kMaxWork) break;
      spent_ += costs;
      todo.push_back(&trial);
    }
    const auto parts = static_cast<int64_t>(std::max(1, threads_));
    (void)ParallelFor(parts, threads_, [&](int64_t part) {
      CaseMemory memory = bench_.Memory();
      for (size_t i = static_cast<size_t>(part); i < todo.size(); i += static_cast<size_t>(parts))
        Try(*todo[i], memory);
    });
  }

  void Try(Trial& trial, CaseMemory& memory) const {
    if (trial.edit.is_float) return TryFloat(trial, memory);
    trial.wrong = bench_.WrongWith(trial.subject, trial.edit, memory);
  }

  // A constant: values that are often meant, and where the error of the worst element vanishes if
  // it goes with the constant.
  void TryFloat(Trial& trial, CaseMemory& memory) const {
    ptx::LineEdit best = trial.edit;
    const auto attempt = [&](double value, double* worst) {
      ptx::LineEdit edit = trial.edit;
      edit.text = ptx::FloatText(trial.edit, value);
      const uint64_t wrong = bench_.WrongWith(trial.subject, edit, memory, worst);
      if (wrong < trial.wrong || best.text.empty()) {
        trial.wrong = wrong;
        best = edit;
      }
      return wrong;
    };
    const double meant = bench_.worst_meant(), now = trial.edit.value;
    double from = now, from_error = bench_.worst_value() - meant;
    double to = now == 0 || !std::isfinite(now) ? 1 : now * 1.0625;
    bool moves = false;
    for (int i = 0; i < kSecants && std::isfinite(to) && std::isfinite(from); ++i) {
      double value = NAN;
      if (attempt(to, &value) == 0) break;
      const double error = value - meant;
      if (!std::isfinite(error) || error == from_error) break;
      moves = true;
      const double next = to - error * (to - from) / (error - from_error);
      from = to;
      from_error = error;
      to = next;
    }
    if (trial.wrong > 0 && (moves || !std::isfinite(now) || now == 0)) {
      for (const double value : {0.0, 1.0, -1.0, 0.5, 2.0, -kUnbounded, kUnbounded})
        if (value != now && trial.wrong > 0) attempt(value, nullptr);
    }
    trial.edit = best;
  }

  // A constant can often be chosen so that one block is right by chance.
  static auto KeyOf(const Trial* trial) {
    return std::tuple(trial->wrong, trial->edit.is_float, trial->order);
  }
  bool IsBetter(const Trial& trial) const {
    return trial.wrong != kNever && 2 * trial.wrong <= bench_.was_wrong();
  }

  // A few of each line, since in one block several may be right.
  std::vector<Trial*> BestOfLines() {
    std::map<std::pair<size_t, uint32_t>, std::vector<Trial*>> best;
    for (Trial& trial : tried_) {
      if (IsBetter(trial)) best[{trial.subject, trial.edit.line}].push_back(&trial);
    }
    std::vector<Trial*> all;
    for (auto& [line, trials] : best) {
      std::ranges::stable_sort(trials, {}, KeyOf);
      trials.resize(std::min(trials.size(), kMaxOfLine));
      all.insert(all.end(), trials.begin(), trials.end());
    }
    std::ranges::stable_sort(all, {}, KeyOf);
    return all;
  }

  // What is right in one block may be wrong in others. Whether the block's elements are the wrong
  // ones.
  bool Confirm(std::vector<Trial*>& best) {
    const auto is_only_block = bench_.UseAllBlocks(threads_);
    if (!is_only_block.has_value()) return false;
    const uint64_t runs = kMaxConfirmWork / (bench_.work() + kReading);
    best.resize(
        std::min<size_t>(best.size(), std::clamp<uint64_t>(runs, kMinConfirmed, kMaxConfirmed)));
    CaseMemory memory = bench_.Memory();
    for (Trial* trial : best) trial->wrong = bench_.WrongWith(trial->subject, trial->edit, memory);
    std::ranges::stable_sort(best, {}, KeyOf);
    return *is_only_block;
  }

  std::vector<TriedEdit> Given(const std::vector<Trial*>& best) const {
    std::vector<TriedEdit> given;
    std::set<std::pair<size_t, uint32_t>> lines;
    for (const Trial* trial : best) {
      if (!IsBetter(*trial) || given.size() == kMaxGiven) continue;
      if (!lines.emplace(trial->subject, trial->edit.line).second) continue;
      const EditBench::Subject& subject = bench_.subjects()[trial->subject];
      const bool inserts = trial->edit.inserts;
      given.push_back(
          {subject.kernel, trial->edit.line,
           inserts ? "bar.sync 0" : ptx::StatementAfter(subject.module.text(), trial->edit),
           inserts, trial->wrong, bench_.was_wrong(), bench_.is_of_block()});
    }
    return given;
  }

  static constexpr int kSecants = 6;
  static constexpr uint64_t kFloatRuns = 4;

  EditBench& bench_;
  const EditTrials& trials_;
  const int threads_;
  uint64_t spent_ = 0;
  std::vector<Trial> tried_;
};

}  // namespace

Result<EditAnswer> TryEdits(const KernelCase& kernels, const std::vector<ptx::Module>& code,
                            const EditTrials& trials, const ptx::LaunchOptions& options) {
  const auto width = static_cast<uint64_t>(hlo::StorageBytes(trials.type));
  if (trials.launch >= kernels.launches.size() || trials.result >= kernels.results.size() ||
      trials.element >= trials.expected.size() / width)
    return EditAnswer{};
  EditBench bench(kernels, code, trials, options);
  return Search(bench, trials, options.threads).Run();
}

}  // namespace hloscope::replay
