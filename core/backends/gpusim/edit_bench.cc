// The block of the worst element where that says enough, else all launches.
#include "core/backends/gpusim/edit_bench.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "core/ptx/checks/kernel_facts.h"
#include "core/ptx/module.h"
#include "core/ptx/switches/statement_text.h"

namespace hloscope::replay {
namespace {

// Instructions of threads of all blocks, where the block that should store an element is not known:
// more are run only where no block stores anything wrong.
constexpr uint64_t kMaxOfAll = 1'000'000;

// Elements of the array that have other bytes.
template <typename F>
void ForChanged(const EditJudge& judge, const std::byte* was, const std::byte* is, F f) {
  constexpr size_t kChunk = 256;
  const size_t width = judge.width(), count = judge.count();
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t end = std::min(count, begin + kChunk);
    if (std::memcmp(was + begin * width, is + begin * width, (end - begin) * width) == 0) continue;
    for (size_t i = begin; i < end; ++i) {
      if (std::memcmp(was + i * width, is + i * width, width) != 0) f(i);
    }
  }
}

}  // namespace

Status EditBench::Begin() {
  options_.threads = 1;
  before_ = kernels_.memory;
  BeginKernelCase(kernels_, before_);
  const bool may_be_one_block = MayBeOneBlock();
  first_ = may_be_one_block ? trials_.launch : 0;
  for (uint64_t i = 0; i < first_; ++i) {
    const CaseLaunch& launch = kernels_.launches[i];
    HLOSCOPE_TRY(ptx::Launch(code_[launch.code], RequestOf(kernels_, launch, before_), options_));
  }
  is_of_block_ = may_be_one_block;
  if (is_of_block_ && trials_.is_missing) HLOSCOPE_TRY(FindBlock());
  CaseMemory memory = before_;
  HLOSCOPE_TRY(Execute(memory, nullptr, is_of_block_, &work_, &warp_work_));
  const std::byte* const is = ResultIn(memory);
  std::vector<size_t> stored;
  ForChanged(judge_, ResultIn(before_), is, [&](size_t i) { stored.push_back(i); });
  is_worst_stored_ = std::ranges::binary_search(stored, element_);
  if (!is_of_block_) {
    stored.resize(judge_.count());
    std::iota(stored.begin(), stored.end(), size_t{0});
  }
  for (const size_t i : stored) judge_.AddError(judge_.ErrorOf(is, i));
  stored_ = stored.size();
  std::ranges::copy_if(stored, std::back_inserter(right_),
                       [&](size_t i) { return judge_.IsRight(is, i); });
  target_was_wrong_ = WrongInTarget(memory, kNever);
  was_wrong_ = target_was_wrong_ + WrongInOthers(memory);
  worst_value_ = judge_.ValueAt(is, element_);
  FindWritten();
  return MakeSubjects();
}

// One block of one launch says enough where no other launch has to be run again, and no other block
// adds to what it leaves.
bool EditBench::MayBeOneBlock() const {
  const CaseLaunch& last = kernels_.launches.back();
  const auto kernel = ptx::KernelOf(code_[last.code], last.kernel);
  const bool is_updated = kernel.has_value() && ptx::FactsOf(**kernel).updates_global;
  return !is_updated && trials_.launch + 1 == kernels_.launches.size() &&
         std::ranges::count(kernels_.launches, last.kernel, &CaseLaunch::kernel) == 1;
}

uint64_t EditBench::Blocks() const {
  const auto& [x, y, z] = kernels_.launches.back().blocks;
  return uint64_t{x} * y * z;
}

// Where no thread stores the worst element the block that should is not known: all run, unless that
// takes too long and a block stores what is wrong, which may have meant to store there.
Status EditBench::FindBlock() {
  CaseMemory memory = before_;
  uint64_t work = 0;
  HLOSCOPE_TRY(Execute(memory, nullptr, false, &work));
  std::vector<size_t> wrong;
  ForChanged(judge_, ResultIn(before_), ResultIn(memory), [&](size_t i) {
    if (!judge_.IsRight(ResultIn(memory), i)) wrong.push_back(i);
  });
  is_of_block_ = work > kMaxOfAll && !wrong.empty();
  if (!is_of_block_) return {};
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
  is_of_block_ = false;
  return {};
}

// Regions that the launches may write to.
void EditBench::FindWritten() {
  std::set<uint64_t> written, all;
  for (uint64_t l = first_; l < kernels_.launches.size(); ++l) {
    const CaseLaunch& launch = kernels_.launches[l];
    const auto kernel = ptx::KernelOf(code_[launch.code], launch.kernel);
    if (!kernel.has_value()) continue;
    const ptx::KernelFacts facts = ptx::FactsOf(**kernel);
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      all.insert(launch.arguments[i].region);
      if (i >= facts.writes.size() || facts.writes[i]) written.insert(launch.arguments[i].region);
    }
  }
  written_.assign(written.begin(), written.end());
  all_.assign(all.begin(), all.end());
}

Status EditBench::MakeSubjects() {
  for (uint64_t i = first_; i < kernels_.launches.size(); ++i) {
    const CaseLaunch& launch = kernels_.launches[i];
    const bool is_known = std::ranges::any_of(subjects_, [&](const Subject& subject) {
      return subject.code == launch.code && subject.kernel == launch.kernel;
    });
    if (is_known) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(std::string text,
                              ptx::TextOfEntry(code_[launch.code], launch.kernel));
    HLOSCOPE_ASSIGN_OR_RETURN(ptx::Module module,
                              ptx::Module::Parse(std::move(text), kernels_.code[launch.code].file));
    subjects_.push_back({launch.code, launch.kernel, std::move(module)});
  }
  return {};
}

// Of one block: what it writes and should not have, elements that it no longer writes, and the
// worst one where it is not written. Else of all elements; no more are counted than `most`.
uint64_t EditBench::WrongInTarget(const CaseMemory& memory, uint64_t most) const {
  const std::byte *was = ResultIn(before_), *is = ResultIn(memory);
  uint64_t wrong = 0;
  if (!is_of_block_) {
    for (size_t i = 0; i < judge_.count() && wrong <= most; ++i)
      wrong += judge_.IsRight(is, i) ? 0 : 1;
    return wrong;
  }
  uint64_t stored = 0, lost = 0;
  bool is_worst_stored = false;
  ForChanged(judge_, was, is, [&](size_t i) {
    ++stored;
    is_worst_stored |= i == element_;
    if (wrong <= most) wrong += judge_.IsRight(is, i) ? 0 : 1;
  });
  const size_t width = judge_.width();
  for (const size_t i : right_)
    lost += std::memcmp(was + i * width, is + i * width, width) == 0 ? 1 : 0;
  wrong += std::max(lost, stored_ > stored ? stored_ - stored : 0);
  return wrong + (!is_worst_stored && !is_worst_stored_ ? 1 : 0);
}

// Of one block only what it writes.
uint64_t EditBench::WrongInOthers(const CaseMemory& memory) const {
  uint64_t wrong = 0;
  for (const auto& [result, judge] : others_) {
    const std::byte *was = ArrayIn(before_, result), *is = ArrayIn(memory, result);
    const auto count = [&](size_t i) { wrong += judge.IsRight(is, i) ? 0 : 1; };
    if (is_of_block_) {
      ForChanged(judge, was, is, count);
    } else {
      for (size_t i = 0; i < judge.count(); ++i) count(i);
    }
  }
  return wrong;
}

// From `first_` on, with `changed` in place of its kernel.
Status EditBench::Execute(CaseMemory& memory, const Subject* changed, bool of_block, uint64_t* work,
                          uint64_t* warp_work) const {
  ptx::LaunchOptions options = options_;
  if (of_block) options.only_block = block_;
  for (uint64_t i = first_; i < kernels_.launches.size(); ++i) {
    const CaseLaunch& launch = kernels_.launches[i];
    const bool is_changed =
        changed != nullptr && launch.code == changed->code && launch.kernel == changed->kernel;
    // Loops that no longer end.
    if (changed != nullptr) options.steps = 4 * warp_work_ + 4096;
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

uint64_t EditBench::BytesPutBack(uint32_t level) const {
  uint64_t bytes = 0;
  for (const uint64_t region : level < 3 ? written_ : all_) bytes += before_[region].size();
  return bytes;
}

uint64_t EditBench::WrongWith(size_t subject, const ptx::LineEdit& edit, CaseMemory& memory,
                              double* worst) const {
  const auto changed = With(subject, edit);
  if (!changed) return kNever;
  uint64_t wrong = kNever;
  if (Execute(memory, &*changed, is_of_block_)) {
    wrong = WrongInTarget(memory, was_wrong_) + WrongInOthers(memory);
    if (worst != nullptr) *worst = judge_.ValueAt(ResultIn(memory), element_);
  }
  // Another register may be another pointer.
  for (const uint64_t region : edit.level < 3 ? written_ : all_)
    std::ranges::copy(before_[region], memory[region].begin());
  return wrong;
}

std::optional<EditBench::Subject> EditBench::With(size_t subject, const ptx::LineEdit& edit) const {
  const Subject& own = subjects_[subject];
  auto module = ptx::Module::Parse(ptx::Edited(own.module.text(), edit), own.module.file());
  if (!module.has_value()) return std::nullopt;
  return Subject{own.code, own.kernel, *std::move(module)};
}

Result<bool> EditBench::UseAllBlocks(int threads) {
  options_.threads = threads;
  CaseMemory memory = before_;
  work_ = warp_work_ = 0;
  HLOSCOPE_TRY(Execute(memory, nullptr, false, &work_, &warp_work_));
  const uint64_t of_block = target_was_wrong_;
  const bool is_whole = right_.empty() && of_block == stored_ && of_block < judge_.count();
  is_of_block_ = false;
  target_was_wrong_ = WrongInTarget(memory, kNever);
  was_wrong_ = target_was_wrong_ + WrongInOthers(memory);
  return is_whole && target_was_wrong_ == of_block;
}

}  // namespace hloscope::replay
