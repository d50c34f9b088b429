// ValueComparison: the values inside a module on two platforms, compared as they come, within a
// given amount of memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/explain/diverge/program_point.h"
#include "core/debug/explain/diverge/value_walk.h"
#include "core/debug/run/run_module.h"
#include "core/debug/run/run_results.h"
#include "core/hlo/analysis/single_precision.h"

namespace hloscope::debug {

// Results as a platform gives them, by device and leaf.
class ResultLists : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override;
  std::vector<Leaves> lists;
};

// A value that differs in some bit.
struct ValueDifference {
  replay::ValueKey key;
  LeafComparison comparison;
};

class ValueComparison {
 public:
  // Both sessions were opened for the boundaries of the module. All must outlive it.
  ValueComparison(const hlo::Module& module, CaptureSession& platform, CaptureSession& reference,
                  const BoundsRequest& bounds, int64_t keep_bytes);
  ~ValueComparison();

  // Runs the platform, which keeps bytes as long as they fit and hashes behind that, then the
  // reference, whose values are compared with them. What differs by its hash is kept in further
  // rounds, in program order, until everything is compared or a divergence has been found that
  // comes before all that is not. A value larger than what may be kept is never compared.
  Status Run();

  const std::map<ProgramPoint, ValueDifference>& differences() const { return differences_; }
  // Counts and curve of the walk.
  void Summarise(ValueWalk& walk) const;
  // Results by device and leaf, as each side gave them in the first round.
  const std::vector<Leaves>& platform_results() const;
  const std::vector<Leaves>& reference_results() const;
  double platform_us() const { return platform_us_; }

  // The platform's values at these points, run again for those that were not kept. Input error: one
  // is not told.
  Result<std::map<ProgramPoint, hlo::Literal>> PlatformValues(
      const std::vector<replay::ValueKey>& keys);

 private:
  class PlatformStream;
  class ReferenceStream;

  Status Round(bool first);
  bool DoneBefore(const std::set<ProgramPoint>& pending) const;

  const hlo::Module& module_;
  hlo::SinglePrecision single_;
  CaptureSession &platform_, &reference_;
  const BoundsRequest& bounds_;
  int64_t keep_bytes_;
  std::unique_ptr<PlatformStream> kept_;
  std::unique_ptr<ReferenceStream> compared_;
  std::map<ProgramPoint, ValueDifference> differences_;
  std::set<ProgramPoint> pending_;          // differ by their hash
  std::set<ProgramPoint> too_large_;        // differ by their hash, and cannot be kept
  std::map<uint32_t, int64_t> executions_;  // values told by both, by instruction
  int64_t compared_count_ = 0, same_bits_ = 0, untold_ = 0;
  double platform_us_ = 0;
};

}  // namespace hloscope::debug
