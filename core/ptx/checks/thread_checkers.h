// ThreadCheckers: a launch checked while several threads run its blocks.
#pragma once

#include <deque>
#include <stop_token>
#include <vector>

#include "core/ptx/checks/checker.h"

namespace hloscope::ptx {

// A checker for each thread, which knows what the blocks of its thread did, and no others. Where
// none of them finds anything, and no block accessed what one of another thread wrote, one thread
// would have found nothing either. Otherwise what it would have found is not known: the launch is
// undone, and has to be checked on one. Where blocks of a kernel race, so do the threads that run
// them; nothing of what they saw is kept.
class ThreadCheckers {
 public:
  // How many threads such a launch is worth: 1 where what has to be kept to undo it is much beside
  // what it does, where its blocks order one another, or where it had to be undone before.
  static size_t WorthThreads(const CheckedLaunch& launch, const LaunchMemory& memory,
                             ShadowMemory& shadow, size_t threads);

  // `stop` is asked to stop at the first finding.
  ThreadCheckers(const CheckedLaunch& launch, const LaunchMemory& memory, ShadowMemory& shadow,
                 size_t threads, std::stop_source& stop);

  std::vector<Observer*> observers();
  // Whether one thread would have found nothing.
  bool FindNothing() const;
  // What the launch has written is written.
  void Keep();
  // Memory is as it was before the launch.
  void Undo();

 private:
  const Kernel& kernel_;
  ShadowMemory& shadow_;
  std::vector<std::span<const std::byte>> arguments_;
  std::vector<ShadowMemory*> copies_;
  std::deque<Checker> checkers_;
  struct Saved {
    std::byte* at = nullptr;
    std::vector<std::byte> bytes;
  };
  std::vector<Saved> saved_;  // what the kernel may write to
};

}  // namespace hloscope::ptx
