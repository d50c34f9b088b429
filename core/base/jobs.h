// Jobs: a fixed set of threads that share out the indices of a loop; results never depend on how
// many there are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "core/base/result.h"

namespace hloscope {

// The CPUs this process may run on, at least 1.
int AvailableCpus();

struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;
};
// The part-th of `parts` contiguous ranges that together cover [0, n); sizes differ by one at most.
IndexRange PartOf(int64_t n, int64_t parts, int64_t part);

// The threads live as long as the object. Calls from several threads take turns; a call made inside
// a body runs its indices in place, so nesting cannot block.
class Jobs {
 public:
  // `threads` counts the calling thread, which works too: 1 starts none.
  explicit Jobs(int threads);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  int threads() const;

  // Calls body(i) once for each i of [0, n), in any order and on any thread, and returns when all
  // are done. If bodies throw, no further indices start and the error of the smallest throwing
  // index is returned; a requested stop likewise gives kCancelled.
  Status ParallelFor(int64_t n, const std::function<void(int64_t)>& body,
                     const std::stop_token& stop = {});

 private:
  class ThreadPool;
  std::unique_ptr<ThreadPool> pool_;
};

// The crew of `threads` that this process keeps for all who ask; made when first asked for.
Jobs& SharedJobs(int threads);

// The same on threads made for this one call, no more than n of them.
Status ParallelFor(int64_t n, int threads, const std::function<void(int64_t)>& body,
                   const std::stop_token& stop = {});

}  // namespace hloscope
