// Edits tried one by one on the block of the worst element, the best then on all blocks.
#include "core/backends/gpusim/edit_trials.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>

#include "core/base/jobs.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/element_type.h"
#include "core/ptx/checks/kernel_facts.h"
#include "core/ptx/module.h"
#include "core/ptx/switches/line_edits.h"

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
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

// What is there and what is meant, element by element.
class Judge {
 public:
  explicit Judge(const EditTrials& trials)
      : trials_(trials), width_(static_cast<size_t>(hlo::StorageBytes(trials.type))) {
    is_float_ = hlo::IsFloat(trials.type) || hlo::IsComplex(trials.type);
    const int bits = hlo::Info(trials.type).bits / (hlo::IsComplex(trials.type) ? 2 : 1);
    ulp_ = std::ldexp(1.0, bits <= 8                                ? -2
                           : trials.type == hlo::ElementType::kBF16 ? -7
                           : bits == 16                             ? -10
                           : bits == 32                             ? -22
                                                                    : -50);
  }

  size_t width() const { return width_; }
  size_t count() const { return trials_.expected.size() / width_; }
  double ValueAt(const std::byte* array, size_t i) const { return Load(array + i * width_).real(); }
  double Meant(size_t i) const { return ValueAt(trials_.expected.data(), i); }

  // From the errors of the kernel as it is: what is far below the largest is none.
  void SetLargest(double error) { largest_ = std::max(largest_, std::isfinite(error) ? error : 0); }

  double ErrorOf(const std::byte* array, size_t i) const {
    const std::byte *is = array + i * width_, *meant = trials_.expected.data() + i * width_;
    if (std::memcmp(is, meant, width_) == 0) return 0;
    if (!is_float_) return INFINITY;
    const eval::Complex a = Load(is), e = Load(meant);
    const double error = std::abs(a - e);
    if (!std::isnan(error)) return error;
    return std::isnan(std::abs(a)) && std::isnan(std::abs(e)) ? 0 : INFINITY;
  }

  bool IsRight(const std::byte* array, size_t i) const {
    const double error = ErrorOf(array, i);
    if (error == 0) return true;
    const double meant = std::abs(Load(trials_.expected.data() + i * width_));
    const double allowed = std::max(trials_.absolute, trials_.relative * meant);
    const double far = largest_ > 0 ? largest_ / kFar : INFINITY;
    return error <= std::max(std::min(allowed, far), ulp_ * meant);
  }

 private:
  static constexpr double kFar = 16;
  eval::Complex Load(const std::byte* at) const {
    eval::Complex value;
    eval::LoadAs(trials_.type, at, &value, 1);
    return value;
  }

  const EditTrials& trials_;
  const size_t width_;
  bool is_float_;
  double ulp_, largest_ = 0;
};

class Search {
 public:
  Search(const KernelCase& kernels, const std::vector<ptx::Module>& code, const EditTrials& trials,
         const ptx::LaunchOptions& options)
      : kernels_(kernels), code_(code), trials_(trials), options_(options), judge_(trials) {}

  Result<EditAnswer> Run() {
    EditAnswer answer;
    if (trials_.launch >= kernels_.launches.size() || trials_.result >= kernels_.results.size() ||
        trials_.element >= judge_.count())
      return answer;
    HLOSCOPE_TRY(Begin());
    if (was_wrong_ == 0) return answer;
    HLOSCOPE_TRY(MakeEdits());
    TryLevel(0);
    TryLevel(1);
    if (!HasRight()) TryLevel(2);
    std::vector<Trial*> best = BestOfLines();
    if (is_of_block_ && work_ * Blocks() <= kMaxConfirmWork) answer.is_only_block = Confirm(best);
    answer.edits = Given(best);
    return answer;
  }

 private:
  struct Subject {
    uint64_t code = 0;
    std::string kernel;
    ptx::Module module;  // with that entry alone
  };
  struct Trial {
    size_t subject = 0;
    ptx::LineEdit edit;
    size_t order = 0;  // of its line
    uint64_t wrong = kNever;
  };

  const CaseSlice& result() const { return kernels_.results[trials_.result]; }
  const std::byte* ResultIn(const CaseMemory& memory) const {
    return memory[result().region].data() + result().offset;
  }

  // One block of one launch says enough where no other launch has to be run again.
  bool IsOfBlock() const {
    return trials_.launch + 1 == kernels_.launches.size() &&
           std::ranges::count(kernels_.launches, kernels_.launches.back().kernel,
                              &CaseLaunch::kernel) == 1;
  }

  uint64_t Blocks() const {
    const auto& [x, y, z] = kernels_.launches.back().blocks;
    return uint64_t{x} * y * z;
  }

  Status Begin() {
    is_of_block_ = IsOfBlock();
    options_.threads = 1;
    before_ = kernels_.memory;
    BeginKernelCase(kernels_, before_);
    first_ = is_of_block_ ? trials_.launch : 0;
    for (uint64_t i = 0; i < first_; ++i) {
      const CaseLaunch& launch = kernels_.launches[i];
      HLOSCOPE_TRY(ptx::Launch(code_[launch.code], RequestOf(kernels_, launch, before_), options_));
    }
    if (is_of_block_ && trials_.is_missing) HLOSCOPE_TRY(FindBlock());
    CaseMemory memory = before_;
    HLOSCOPE_TRY(Execute(memory, nullptr, is_of_block_, &work_, &warp_work_));
    const std::byte* const is = ResultIn(memory);
    std::vector<size_t> stored;
    ForChanged(ResultIn(before_), is, [&](size_t i) { stored.push_back(i); });
    is_worst_stored_ = std::ranges::binary_search(stored, element_);
    if (!is_of_block_) {
      stored.resize(judge_.count());
      std::iota(stored.begin(), stored.end(), size_t{0});
    }
    for (const size_t i : stored) judge_.SetLargest(judge_.ErrorOf(is, i));
    stored_ = stored.size();
    std::ranges::copy_if(stored, std::back_inserter(right_),
                         [&](size_t i) { return judge_.IsRight(is, i); });
    was_wrong_ = WrongIn(memory, kNever);
    worst_value_ = judge_.ValueAt(is, element_);
    FindWritten();
    return {};
  }

  // Regions that the launches may write to.
  void FindWritten() {
    std::set<uint64_t> written, all;
    for (uint64_t l = first_; l < kernels_.launches.size(); ++l) {
      const CaseLaunch& launch = kernels_.launches[l];
      const auto kernel = ptx::KernelOf(code_[launch.code], launch.kernel);
      if (!kernel.has_value()) continue;
      const ptx::KernelFacts facts = ptx::FactsOf(**kernel);
      for (size_t i = 0; i < launch.arguments.size(); ++i) {
        all.insert(launch.arguments[i].region);
        if (facts.stores_in_bulk || i >= facts.writes.size() || facts.writes[i])
          written.insert(launch.arguments[i].region);
      }
    }
    written_.assign(written.begin(), written.end());
    all_.assign(all.begin(), all.end());
  }

  template <typename F>
  void ForChanged(const std::byte* was, const std::byte* is, F f) const {
    constexpr size_t kChunk = 256;
    const size_t width = judge_.width(), count = judge_.count();
    for (size_t begin = 0; begin < count; begin += kChunk) {
      const size_t end = std::min(count, begin + kChunk);
      if (std::memcmp(was + begin * width, is + begin * width, (end - begin) * width) == 0)
        continue;
      for (size_t i = begin; i < end; ++i) {
        if (std::memcmp(was + i * width, is + i * width, width) != 0) f(i);
      }
    }
  }

  // Where no thread stores the worst element: a block that stores what is wrong, which may have
  // meant to store there; else the nearest one stays.
  Status FindBlock() {
    CaseMemory memory = before_;
    HLOSCOPE_TRY(Execute(memory, nullptr, false));
    std::vector<size_t> wrong;
    ForChanged(ResultIn(before_), ResultIn(memory), [&](size_t i) {
      if (!judge_.IsRight(ResultIn(memory), i)) wrong.push_back(i);
    });
    if (wrong.empty()) return {};
    const size_t element = wrong[wrong.size() / 2];
    const CaseLaunch& launch = kernels_.launches.back();
    const uint64_t byte = result().offset + element * judge_.width();
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const CaseSlice& argument = launch.arguments[i];
      if (argument.region != result().region || byte < argument.offset ||
          byte >= argument.offset + argument.bytes)
        continue;
      memory = before_;
      HLOSCOPE_ASSIGN_OR_RETURN(
          const auto writer,
          ptx::FindWriter(code_[launch.code], RequestOf(kernels_, launch, memory),
                          static_cast<uint32_t>(i), byte - argument.offset, options_));
      if (!writer) continue;
      block_ = writer->block;
      element_ = element;
      return {};
    }
    return {};
  }

  // Of one block: what it writes and should not have, elements that it no longer writes, and the
  // worst one where it is not written. Else of all elements; no more are counted than `most`.
  uint64_t WrongIn(const CaseMemory& memory, uint64_t most) const {
    const std::byte *was = ResultIn(before_), *is = ResultIn(memory);
    uint64_t wrong = 0;
    if (!is_of_block_) {
      for (size_t i = 0; i < judge_.count() && wrong <= most; ++i)
        wrong += judge_.IsRight(is, i) ? 0 : 1;
      return wrong;
    }
    uint64_t stored = 0, lost = 0;
    bool is_worst_stored = false;
    ForChanged(was, is, [&](size_t i) {
      ++stored;
      is_worst_stored |= i == element_;
      if (wrong <= most) wrong += judge_.IsRight(is, i) ? 0 : 1;
    });
    const size_t width = judge_.width();
    for (const size_t i : right_)
      lost += std::memcmp(was + i * width, is + i * width, width) == 0 ? 1 : 0;
    wrong += std::max(lost, stored_ > stored ? stored_ - stored : 0);
    return wrong + (!is_worst_stored_ && !is_worst_stored ? 1 : 0);
  }

  // From `first_` on, with `changed` in place of its kernel.
  Status Execute(CaseMemory& memory, const Subject* changed, bool of_block,
                 uint64_t* work = nullptr, uint64_t* warp_work = nullptr) const {
    ptx::LaunchOptions options = options_;
    if (of_block) options.only_block = block_;
    for (uint64_t i = first_; i < kernels_.launches.size(); ++i) {
      const CaseLaunch& launch = kernels_.launches[i];
      const bool is_changed =
          changed != nullptr && launch.code == changed->code && launch.kernel == changed->kernel;
      // Loops that no longer end.
      if (changed != nullptr && of_block == is_of_block_) options.steps = 4 * warp_work_ + 4096;
      HLOSCOPE_ASSIGN_OR_RETURN(const ptx::LaunchResult result,
                                ptx::Launch(is_changed ? changed->module : code_[launch.code],
                                            RequestOf(kernels_, launch, memory), options));
      if (result.fault)
        return std::unexpected(Error{ErrorClass::kCrashed, result.fault->ToString(), {}, {}});
      if (work != nullptr) *work += result.counters.threads();
      if (warp_work != nullptr) *warp_work += result.counters.warp_instructions;
    }
    return {};
  }

  Status MakeEdits() {
    for (uint64_t i = first_; i < kernels_.launches.size(); ++i) {
      const CaseLaunch& launch = kernels_.launches[i];
      const bool is_known = std::ranges::any_of(subjects_, [&](const Subject& subject) {
        return subject.code == launch.code && subject.kernel == launch.kernel;
      });
      if (is_known) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(std::string text,
                                ptx::TextOfEntry(code_[launch.code], launch.kernel));
      HLOSCOPE_ASSIGN_OR_RETURN(
          ptx::Module module, ptx::Module::Parse(std::move(text), kernels_.code[launch.code].file));
      subjects_.push_back({launch.code, launch.kernel, std::move(module)});
    }
    std::map<std::pair<std::string, uint32_t>, size_t> orders;
    for (const auto& line : trials_.lines) orders.try_emplace(line, orders.size());
    for (size_t s = 0; s < subjects_.size(); ++s) {
      for (ptx::LineEdit& edit :
           ptx::LineEditsOf(subjects_[s].module, subjects_[s].kernel, trials_.sizes)) {
        const auto order = orders.find({subjects_[s].kernel, edit.line});
        const size_t place = order == orders.end() ? orders.size() + edit.line : order->second;
        tried_.push_back({s, std::move(edit), place});
      }
    }
    std::ranges::stable_sort(
        tried_, {}, [](const Trial& trial) { return std::pair(trial.edit.level, trial.order); });
    return {};
  }

  bool HasRight() const {
    return std::ranges::any_of(tried_, [](const Trial& trial) { return trial.wrong == 0; });
  }

  // As many as there is work left for, the most suspect lines first.
  void TryLevel(uint32_t level) {
    std::vector<Trial*> todo;
    for (Trial& trial : tried_) {
      if (trial.edit.level != level) continue;
      const uint64_t costs =
          (work_ + kReading + BytesPutBack(level)) * (trial.edit.is_float ? kFloatRuns : 1);
      if (spent_ + costs > kMaxWork) break;
      spent_ += costs;
      todo.push_back(&trial);
    }
    const auto parts = static_cast<int64_t>(std::max(1, threads_));
    (void)ParallelFor(parts, threads_, [&](int64_t part) {
      CaseMemory memory = before_;
      for (size_t i = static_cast<size_t>(part); i < todo.size(); i += static_cast<size_t>(parts))
        Try(*todo[i], memory);
    });
  }

  uint64_t BytesPutBack(uint32_t level) const {
    uint64_t bytes = 0;
    for (const uint64_t region : level < 2 ? written_ : all_) bytes += before_[region].size();
    return bytes / kBytesOfOne;
  }

  void Try(Trial& trial, CaseMemory& memory) const {
    if (trial.edit.is_float) return TryFloat(trial, memory);
    trial.wrong = WrongWith(trial.subject, trial.edit, memory);
  }

  // Of an edit that cannot be read or ends the run: kNever.
  uint64_t WrongWith(size_t subject, const ptx::LineEdit& edit, CaseMemory& memory,
                     double* worst = nullptr) const {
    const auto changed = With(subject, edit);
    if (!changed) return kNever;
    uint64_t wrong = kNever;
    if (Execute(memory, &*changed, is_of_block_)) {
      wrong = WrongIn(memory, was_wrong_);
      if (worst != nullptr) *worst = judge_.ValueAt(ResultIn(memory), element_);
    }
    // Another register may be another pointer.
    for (const uint64_t region : edit.level < 2 ? written_ : all_)
      std::ranges::copy(before_[region], memory[region].begin());
    return wrong;
  }

  std::optional<Subject> With(size_t subject, const ptx::LineEdit& edit) const {
    const Subject& own = subjects_[subject];
    auto module = ptx::Module::Parse(ptx::Edited(own.module.text(), edit), own.module.file());
    if (!module.has_value()) return std::nullopt;
    return Subject{own.code, own.kernel, *std::move(module)};
  }

  // A constant: values that are often meant, and where the error of the worst element vanishes if
  // it goes with the constant.
  void TryFloat(Trial& trial, CaseMemory& memory) const {
    ptx::LineEdit best = trial.edit;
    const auto attempt = [&](double value, double* worst) {
      ptx::LineEdit edit = trial.edit;
      edit.text = ptx::FloatText(trial.edit, value);
      const uint64_t wrong = WrongWith(trial.subject, edit, memory, worst);
      if (wrong < trial.wrong || best.text.empty()) {
        trial.wrong = wrong;
        best = edit;
      }
      return wrong;
    };
    const double meant = judge_.Meant(element_), now = trial.edit.value;
    double from = now, from_error = worst_value_ - meant;
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
    return trial.wrong != kNever && 2 * trial.wrong <= was_wrong_;
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
    options_.threads = threads_;
    CaseMemory memory = before_;
    uint64_t work = 0, warp_work = 0;
    if (!Execute(memory, nullptr, false, &work, &warp_work)) return false;
    const uint64_t of_block = was_wrong_;
    const bool is_whole = right_.empty() && of_block == stored_ && of_block < judge_.count();
    const uint64_t runs = kMaxConfirmWork / (work + kReading);
    best.resize(
        std::min<size_t>(best.size(), std::clamp<uint64_t>(runs, kMinConfirmed, kMaxConfirmed)));
    warp_work_ = warp_work;
    is_of_block_ = false;
    was_wrong_ = WrongIn(memory, kNever);
    for (Trial* trial : best) {
      memory = before_;
      const auto changed = With(trial->subject, trial->edit);
      const bool has_run = changed && Execute(memory, &*changed, false);
      trial->wrong = has_run ? WrongIn(memory, kNever) : kNever;
    }
    std::ranges::stable_sort(best, {}, KeyOf);
    return is_whole && was_wrong_ == of_block;
  }

  std::vector<TriedEdit> Given(const std::vector<Trial*>& best) const {
    std::vector<TriedEdit> given;
    std::set<std::pair<size_t, uint32_t>> lines;
    for (const Trial* trial : best) {
      if (!IsBetter(*trial) || given.size() == kMaxGiven) continue;
      if (!lines.emplace(trial->subject, trial->edit.line).second) continue;
      const Subject& subject = subjects_[trial->subject];
      const bool inserts = trial->edit.inserts;
      given.push_back(
          {subject.kernel, trial->edit.line,
           inserts ? "bar.sync 0" : ptx::StatementAfter(subject.module.text(), trial->edit),
           inserts, trial->wrong, was_wrong_, is_of_block_});
    }
    return given;
  }

  static constexpr int kSecants = 6;
  static constexpr uint64_t kFloatRuns = 4;

  const KernelCase& kernels_;
  const std::vector<ptx::Module>& code_;
  const EditTrials& trials_;
  ptx::LaunchOptions options_;
  const int threads_ = options_.threads;
  Judge judge_;
  bool is_of_block_ = false;
  uint64_t first_ = 0;  // launch that runs again
  CaseMemory before_;   // it
  std::array<uint32_t, 3> block_ = trials_.block;
  size_t element_ = trials_.element;
  uint64_t stored_ = 0;        // elements that the block stores
  std::vector<size_t> right_;  // those of them that are right
  bool is_worst_stored_ = false;
  uint64_t was_wrong_ = 0;
  double worst_value_ = 0;
  uint64_t work_ = 0, warp_work_ = 0, spent_ = 0;
  std::vector<uint64_t> written_, all_;  // regions
  std::vector<Subject> subjects_;
  std::vector<Trial> tried_;
};

}  // namespace

Result<EditAnswer> TryEdits(const KernelCase& kernels, const std::vector<ptx::Module>& code,
                            const EditTrials& trials, const ptx::LaunchOptions& options) {
  return Search(kernels, code, trials, options).Run();
}

}  // namespace hloscope::replay
