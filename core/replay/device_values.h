// How arrays given for a module become values of its devices, and how the devices' results become
// arrays again (docs/replay.md, "Values").
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/sharding/tiling.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::replay {

// One leaf of the parameters or of the result: its shape on one device (of all partitions together
// for an unpartitioned module), and how a larger array is cut into such, where that is known.
struct LeafPlacement {
  hlo::Shape shape;
  std::optional<hlo::Tiling> tiling;
  bool same_on_replicas = false;  // parameter_replication says so
};

/// Environment error: the header is for more devices than the limit `devices`, so that nothing of
/// that many may be made. Asked before a Placement.
Status CheckDeviceCount(const hlo::Module& module, const Limits& limits);

// The devices of a module and its leaves in order. An unpartitioned module has one list of values
// per replica, any other one per device.
class Placement {
 public:
  Placement(const hlo::Module& module, const Limits& limits);

  const hlo::Topology& topology() const { return topology_; }
  int64_t replicas() const { return topology_.counts.replicas; }
  // Partitions with values of their own.
  int64_t partitions() const { return topology_.unpartitioned ? 1 : topology_.counts.partitions; }
  int64_t lists() const { return replicas() * partitions(); }
  const std::vector<LeafPlacement>& parameters() const { return parameters_; }
  const std::vector<LeafPlacement>& results() const { return results_; }

  // True if Spread takes an array of these dimensions for the leaf.
  bool Accepts(const LeafPlacement& leaf, std::span<const int64_t> dimensions) const;
  // "f32[4], f32[16] or f32[2,4]": what Accepts takes.
  std::string Accepted(const LeafPlacement& leaf) const;
  // The value of each list: an array of the leaf's own shape for all, a whole one cut up, and
  // either after a leading dimension of replicas. Input error for another shape.
  Result<std::vector<hlo::Literal>> Spread(const LeafPlacement& leaf,
                                           const hlo::Literal& given) const;

  struct Gathered {
    hlo::Literal value;
    std::string warning;  // devices that should agree do not, or an order was guessed; else empty
  };
  // The other way: partitions put together, replicas stacked. Without a tiling, partitions that
  // agree give one array; others are put together to the dimensions of `wanted`, in the order that
  // comes closest to it if the parameters do not say, or stacked. `wanted` also cuts off padding.
  // Remembers in `leaf` how it put partitions together.
  Gathered Gather(LeafPlacement& leaf, std::span<const hlo::Literal> values,
                  const hlo::Literal* wanted = nullptr) const;

 private:
  bool IsWhole(const LeafPlacement& leaf, std::span<const int64_t> dimensions) const;
  Gathered GatherPartitions(LeafPlacement& leaf, std::span<const hlo::Literal> values,
                            const hlo::Literal* wanted) const;
  void GuessTiling(LeafPlacement& leaf, std::span<const hlo::Literal> values,
                   const hlo::Literal& wanted) const;

  hlo::Topology topology_;
  std::vector<LeafPlacement> parameters_, results_;
};

// The leaves of generated arguments for each list: equal where devices hold the same, and always
// for scalars and where the header says one device; `generate` makes all leaves from a seed.
using LeafGenerator = std::function<Result<std::vector<hlo::Literal>>(uint64_t seed)>;
Result<std::vector<std::vector<hlo::Literal>>> GenerateInputLists(const Placement& placement,
                                                                  uint64_t seed,
                                                                  const LeafGenerator& generate);

}  // namespace hloscope::replay
