// Search: looks at every value of a run, beside it and in its process, and tells what it found.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/eval/machine/evaluator.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

class Search : public runtime::Observer {
 public:
  // Before the run: nobody will show what happens inside fusions.
  virtual void FusionsAreWhole() {}
  // Once, behind the run.
  virtual SearchFinding Finding() const = 0;
};

// The search that a request asks for; `module` must outlive it. Input error: there is none of that
// name, or nobody can read the request.
Result<std::unique_ptr<Search>> MakeSearch(const hlo::Module& module, const SearchRequest& request);

}  // namespace hloscope::replay
