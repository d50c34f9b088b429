// ThreadCheckers: memory saved, and accesses of the blocks of several threads compared.
#include "core/ptx/checks/thread_checkers.h"

#include <algorithm>

namespace hloscope::ptx {
namespace {

// To save and compare a byte costs about what a few instructions do.
constexpr uint64_t kMaxSavedOfThread = 64;  // bytes
constexpr uint64_t kMinInstructions = uint64_t{1}
                                      << 16;  // of the text, for each thread of a launch
constexpr uint64_t kMaxThreads = 8;           // each is compared with each
// Bytes of memory that all threads together may have shadows of, which take up to six times that.
constexpr uint64_t kMaxShadowed = uint64_t{512} << 20;

}  // namespace

size_t ThreadCheckers::WorthThreads(const CheckedLaunch& launch, const LaunchMemory& memory,
                                    ShadowMemory& shadow, size_t threads) {
  const KernelFacts& facts = shadow.FactsOf(*launch.kernel);
  const size_t instructions = launch.kernel->instructions.size();
  if (instructions >= Stamp::kMaxInstructions) return 1;  // races are not looked for
  if (facts.orders_blocks || shadow.IsUndone(*launch.kernel)) return 1;
  uint64_t all = 1, saved = 0;
  for (const uint32_t size : launch.grid) all *= size;
  for (const uint32_t size : launch.block) all *= size;
  if (all * instructions < kMinInstructions) return 1;
  for (size_t i = 0; i < memory.arguments.size(); ++i)
    if (facts.writes[i]) saved += memory.arguments[i].bytes;
  if (saved > kMaxSavedOfThread * all) return 1;
  const uint64_t most = kMaxShadowed / std::max<uint64_t>(shadow.bytes(), 1);
  return std::max<uint64_t>(1, std::min({uint64_t{threads}, kMaxThreads, most}));
}

ThreadCheckers::ThreadCheckers(const CheckedLaunch& launch, const LaunchMemory& memory,
                               ShadowMemory& shadow, size_t threads, std::stop_source& stop)
    : kernel_(*launch.kernel), shadow_(shadow) {
  const KernelFacts& facts = shadow.FactsOf(kernel_);
  for (size_t i = 0; i < memory.arguments.size(); ++i) {
    const Window& window = memory.arguments[i];
    arguments_.emplace_back(window.data, window.bytes);
    if (facts.writes[i]) saved_.push_back({window.data, {window.data, window.data + window.bytes}});
  }
  CheckedLaunch of_thread = launch;
  of_thread.found = &stop;
  of_thread.race = true;  // where threads race, nothing that they find is worth anything
  for (size_t i = 0; i < threads; ++i) {
    copies_.push_back(&shadow.CopyFor(i, arguments_));
    checkers_.emplace_back(of_thread, memory, *copies_.back());
  }
}

std::vector<Observer*> ThreadCheckers::observers() {
  std::vector<Observer*> observers;
  for (Checker& checker : checkers_) observers.push_back(&checker);
  return observers;
}

bool ThreadCheckers::FindNothing() const {
  for (size_t i = 0; i < checkers_.size(); ++i) {
    if (checkers_[i].found_any()) return false;
    for (size_t k = i + 1; k < checkers_.size(); ++k)
      if (checkers_[i].MeetsBlocksOf(checkers_[k])) return false;
  }
  return true;
}

void ThreadCheckers::Keep() {
  for (ShadowMemory* const copy : copies_) shadow_.Keep(*copy, arguments_);
}

void ThreadCheckers::Undo() {
  for (const Saved& saved : saved_) std::ranges::copy(saved.bytes, saved.at);
  shadow_.NoteUndone(kernel_);
}

}  // namespace hloscope::ptx
