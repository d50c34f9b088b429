// Kernels of the custom calls at the borders of manual regions: outside, a value is the whole
// array; inside, each device has its own part (XLA: sharding_op_util.h; Shardy:
// manual_computation).
#include "core/hlo/sharding/manual_region.h"

#include <algorithm>
#include <map>

#include "core/eval/kernels/collectives.h"
#include "core/eval/loops/blocks.h"

namespace hloscope::eval {
namespace {

using hlo::PartOfWhole;
using hlo::Shape;
using hlo::Sharding;
using hlo::Tiling;

int64_t PartitionOf(const KernelCall& call) {
  return call.machine.device() % call.machine.devices().counts().partitions;
}

Result<std::vector<Sharding>> ShardingsOf(const KernelCall& call) {
  auto shardings = hlo::ManualShardings(call.module(), call.id);
  if (!shardings.has_value()) return Unsupported(call, shardings.error());
  return *std::move(shardings);
}

Result<Tiling> TilingFor(const KernelCall& call, const Sharding& sharding, const Shape& whole,
                         const Shape& part) {
  auto tiling =
      hlo::ManualTiling(sharding, whole, part, call.machine.devices().counts().partitions);
  if (!tiling.has_value()) return Unsupported(call, tiling.error());
  return *std::move(tiling);
}

bool IsEmpty(const PartOfWhole& part) {
  return std::ranges::find(part.sizes, 0) != part.sizes.end();
}

Result<Value> Cut(KernelCall& call, const Value& whole, const Sharding& sharding,
                  const Shape& shape) {
  if (whole.is_missing()) return whole;
  if (!whole.is_array() || !shape.IsArray()) return whole;
  HLOSCOPE_ASSIGN_OR_RETURN(const Tiling tiling, TilingFor(call, sharding, whole.shape(), shape));
  if (tiling.IsReplicated()) return whole;
  const int64_t tile = std::max<int64_t>(tiling.tile_of[static_cast<size_t>(PartitionOf(call))], 0);
  const PartOfWhole part = hlo::PartAt(tiling, tile, whole.shape(), shape);
  HLOSCOPE_ASSIGN_OR_RETURN(Value result, Zeros(call, shape));
  if (IsEmpty(part)) return result;
  Buffer buffer = result.TakeBuffer();
  const std::vector<int64_t> zero(shape.rank(), 0);
  CopyBlock(part.sizes, hlo::StorageBytes(shape.element_type()),
            {whole.shape().dimensions(), part.start}, whole.data(), {shape.dimensions(), zero},
            buffer.data());
  return Value::Array(shape, std::move(buffer));
}

bool SameBytes(const Value& a, const Value& b) {
  return a.is_array() && b.is_array() && a.literal() == b.literal();
}

// The whole put together from the first of the members that holds each part.
Result<Value> PutTogether(KernelCall& call, const RendezvousState& rendezvous,
                          std::span<const int64_t> members, size_t operand,
                          const Sharding& sharding, const Shape& shape) {
  const Value& first = rendezvous.brought[0][operand];
  if (!first.is_array() || !shape.IsArray()) return first;
  HLOSCOPE_ASSIGN_OR_RETURN(const Tiling tiling, TilingFor(call, sharding, shape, first.shape()));
  std::map<int64_t, size_t> holders;
  bool agree = true;
  const auto partitions = static_cast<int64_t>(tiling.tile_of.size());
  for (size_t p = 0; p < members.size(); ++p) {
    const int64_t tile = tiling.tile_of[static_cast<size_t>(members[p] % partitions)];
    if (tile < 0) continue;
    const auto [at, is_new] = holders.try_emplace(tile, p);
    agree &= is_new ||
             SameBytes(rendezvous.brought[at->second][operand], rendezvous.brought[p][operand]);
  }
  if (!agree) {
    call.machine.devices().Warn(
        std::string(call.module().name(call.id)) +
        ": devices that should hold the same values hold different ones; using those of the first");
  }
  if (tiling.IsReplicated() && !holders.empty()) {
    return rendezvous.brought[holders.begin()->second][operand];
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Value result, Zeros(call, shape));
  Buffer buffer = result.TakeBuffer();
  const std::vector<int64_t> zero(shape.rank(), 0);
  for (const auto& [tile, p] : holders) {
    const Value& own = rendezvous.brought[p][operand];
    if (!hlo::Compatible(own.shape(), first.shape(), {.dynamic_dimensions = false})) {
      return Unsupported(call, "its operands differ in shape across devices");
    }
    const PartOfWhole part = hlo::PartAt(tiling, tile, shape, own.shape());
    if (IsEmpty(part)) continue;
    CopyBlock(part.sizes, hlo::StorageBytes(shape.element_type()), {own.shape().dimensions(), zero},
              own.data(), {shape.dimensions(), part.start}, buffer.data());
  }
  return Value::Array(shape, std::move(buffer));
}

const Shape* PartOfShape(const KernelCall& call, size_t i) {
  const Shape& shape = call.shape();
  if (!shape.IsTuple()) return i == 0 ? &shape : nullptr;
  return i < shape.elements().size() ? &shape.elements()[i] : nullptr;
}

}  // namespace

Result<Value> EnterManualCall(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto shardings, ShardingsOf(call));
  std::vector<Value> results;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Shape* shape = PartOfShape(call, i);
    if (shape == nullptr || i >= shardings.size()) {
      return Unsupported(call, "it has fewer shardings or results than operands");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Value part, Cut(call, call.operands[i], shardings[i], *shape));
    results.push_back(std::move(part));
  }
  if (results.empty() || call.shape().IsTuple()) return Value::Tuple(std::move(results));
  return std::move(results[0]);
}

Result<Value> LeaveManualCall(KernelCall& call) {
  DeviceSet& devices = call.machine.devices();
  const int64_t partitions = devices.counts().partitions;
  const int64_t device = call.machine.device(), own = device % partitions;
  std::vector<int64_t> members;
  for (const auto& group : hlo::ManualGroups(call.module(), call.id, partitions)) {
    if (std::ranges::find(group, own) == group.end()) continue;
    for (const int64_t partition : group) members.push_back(device - own + partition);
  }
  const int64_t own_channel = -1 - static_cast<int64_t>(call.id.index);
  std::vector<Value> operands(call.operands.begin(), call.operands.end());
  HLOSCOPE_ASSIGN_OR_RETURN(
      const auto rendezvous,
      devices.Rendezvous(call.id, device, own_channel, members, std::move(operands)));
  if (const Value* missing = FindMissing(*rendezvous)) return *missing;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto shardings, ShardingsOf(call));
  for (size_t i = rendezvous->results.size(); i < call.operands.size(); ++i) {
    const Shape* shape = PartOfShape(call, i);
    if (shape == nullptr || i >= shardings.size()) {
      return Unsupported(call, "it has fewer shardings or results than operands");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Value whole,
                              PutTogether(call, *rendezvous, members, i, shardings[i], *shape));
    rendezvous->results.push_back(std::move(whole));
  }
  if (rendezvous->results.empty() || call.shape().IsTuple())
    return Value::Tuple(rendezvous->results);
  return rendezvous->results[0];
}

}  // namespace hloscope::eval
