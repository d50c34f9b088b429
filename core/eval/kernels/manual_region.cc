// Kernels of the custom calls at the borders of manual regions: outside, a value is the whole
// array; inside, each device has its own part (XLA: sharding_op_util.h; Shardy:
// manual_computation).
#include <algorithm>
#include <map>
#include <numeric>

#include "core/eval/kernels/collectives.h"
#include "core/eval/loops/blocks.h"
#include "core/hlo/sharding/tiling.h"
#include "core/hlo/sharding/topology.h"
#include "core/hlo/text/sdy_text.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;
using hlo::Sharding;
using hlo::Tiling;

int64_t PartitionOf(const KernelCall& call) {
  return call.machine.device() % call.machine.devices().counts().partitions;
}

// The shardings of each operand's whole array, only the manual axes of it.
Result<std::vector<Sharding>> NamedShardings(const KernelCall& call, std::string_view key) {
  const auto text = hlo::FrontendValue(call.module(), call.id, key);
  const auto axes_text = hlo::FrontendValue(call.module(), call.id, "xla.sdy.manual_axes");
  auto shardings = text ? hlo::ReadSdyShardings(call.module(), *text) : std::nullopt;
  const auto names = axes_text ? hlo::ReadSdyAxes(*axes_text) : std::nullopt;
  if (!shardings || !names) return Unsupported(call, "its shardings cannot be parsed");
  for (Sharding& sharding : *shardings) {
    for (hlo::DimensionSharding& dimension : sharding.dimensions) {
      std::erase_if(dimension.axes, [&](const hlo::AxisRef& ref) {
        const std::string& name = sharding.mesh.axes[static_cast<size_t>(ref.axis)].first;
        return std::ranges::find(*names, name) == names->end();
      });
    }
  }
  return *std::move(shardings);
}

// The sharding of operand or result number `i`.
Result<std::vector<Sharding>> ShardingsOf(const KernelCall& call, bool enters) {
  const std::string_view target =
      call.module().GetString(call.instruction(), AttributeKey::kCustomCallTarget);
  if (target == hlo::kGlobalToLocal) return NamedShardings(call, "xla.sdy.in_shardings");
  if (target == hlo::kLocalToGlobal) return NamedShardings(call, "xla.sdy.out_shardings");
  const auto operands = call.module().operands(call.id);
  const hlo::InstructionId holder = enters && !operands.empty() ? operands[0] : call.id;
  const auto* sharding =
      call.module().Get<Sharding>(call.module()[holder], AttributeKey::kSharding);
  if (sharding == nullptr) return std::vector<Sharding>(call.operands.size());
  return std::vector<Sharding>(call.operands.size(), *sharding);
}

// How the whole array is cut along the dimensions where the part is smaller; others are sharded by
// axes that are not manual, if at all.
Result<Tiling> ManualTiling(const KernelCall& call, const Sharding& sharding, const Shape& whole,
                            const Shape& part) {
  const int64_t partitions = call.machine.devices().counts().partitions;
  const bool same = hlo::Compatible(whole, part, {.dynamic_dimensions = false});
  auto tiling = hlo::TilingOf(same ? Sharding{} : sharding, whole.rank(), partitions);
  if (!tiling || whole.rank() != part.rank()) {
    return Unsupported(call, "its sharding does not assign parts to devices");
  }
  Tiling manual = *tiling;
  for (size_t d = 0; d < whole.rank(); ++d) {
    if (whole.dimension(d) == part.dimension(d)) {
      manual.tiles[d] = 1;
    } else if ((whole.dimension(d) + tiling->tiles[d] - 1) / tiling->tiles[d] !=
               part.dimension(d)) {
      return Unsupported(call, "its sharding does not match the shapes of its parts");
    }
  }
  for (int64_t& tile : manual.tile_of) {
    if (tile < 0) continue;
    int64_t rest = tile, number = 0, stride = 1;
    for (size_t d = whole.rank(); d-- > 0;) {
      if (manual.tiles[d] != 1) {
        number += rest % tiling->tiles[d] * stride;
        stride *= tiling->tiles[d];
      }
      rest /= tiling->tiles[d];
    }
    tile = number;
  }
  return manual;
}

struct Part {
  std::vector<int64_t> start, sizes;  // in the whole; the last part may be short
};

Part PartOfWhole(const Tiling& tiling, int64_t tile, const Shape& whole, const Shape& part) {
  Part result{std::vector<int64_t>(whole.rank(), 0), Dimensions(part)};
  for (size_t d = whole.rank(); d-- > 0;) {
    result.start[d] = tile % tiling.tiles[d] * part.dimension(d);
    tile /= tiling.tiles[d];
    result.sizes[d] =
        std::clamp<int64_t>(whole.dimension(d) - result.start[d], 0, part.dimension(d));
  }
  return result;
}

bool IsEmpty(const Part& part) { return std::ranges::find(part.sizes, 0) != part.sizes.end(); }

Result<Value> Cut(KernelCall& call, const Value& whole, const Sharding& sharding,
                  const Shape& shape) {
  if (whole.is_missing()) return whole;
  if (!whole.is_array() || !shape.IsArray()) return whole;
  HLOSCOPE_ASSIGN_OR_RETURN(const Tiling tiling,
                            ManualTiling(call, sharding, whole.shape(), shape));
  if (tiling.IsReplicated()) return whole;
  const int64_t tile = std::max<int64_t>(tiling.tile_of[static_cast<size_t>(PartitionOf(call))], 0);
  const Part part = PartOfWhole(tiling, tile, whole.shape(), shape);
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

// The whole put together from the first holder of each part.
Result<Value> PutTogether(KernelCall& call, const Meeting& meeting, size_t operand,
                          const Sharding& sharding, const Shape& shape) {
  const Value& first = meeting.brought[0][operand];
  if (!first.is_array() || !shape.IsArray()) return first;
  HLOSCOPE_ASSIGN_OR_RETURN(const Tiling tiling,
                            ManualTiling(call, sharding, shape, first.shape()));
  std::map<int64_t, size_t> holders;
  bool agree = true;
  for (size_t p = 0; p < meeting.brought.size(); ++p) {
    if (tiling.tile_of[p] < 0) continue;
    const auto [at, is_new] = holders.try_emplace(tiling.tile_of[p], p);
    agree &= is_new || SameBytes(meeting.brought[at->second][operand], meeting.brought[p][operand]);
  }
  if (!agree) {
    call.machine.devices().Warn(
        std::string(call.module().name(call.id)) +
        ": devices that should hold the same values hold different ones; using those of the first");
  }
  if (tiling.IsReplicated() && !holders.empty()) {
    return meeting.brought[holders.begin()->second][operand];
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Value result, Zeros(call, shape));
  Buffer buffer = result.TakeBuffer();
  const std::vector<int64_t> zero(shape.rank(), 0);
  for (const auto& [tile, p] : holders) {
    const Value& own = meeting.brought[p][operand];
    if (!hlo::Compatible(own.shape(), first.shape(), {.dynamic_dimensions = false})) {
      return Unsupported(call, "its operands differ in shape across devices");
    }
    const Part part = PartOfWhole(tiling, tile, shape, own.shape());
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
  HLOSCOPE_ASSIGN_OR_RETURN(const auto shardings, ShardingsOf(call, true));
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
  std::vector<int64_t> members(static_cast<size_t>(partitions));
  std::iota(members.begin(), members.end(), call.machine.device() / partitions * partitions);
  const int64_t own_channel = -1 - static_cast<int64_t>(call.id.index);
  std::vector<Value> operands(call.operands.begin(), call.operands.end());
  HLOSCOPE_ASSIGN_OR_RETURN(
      const auto meeting,
      devices.Meet(call.id, call.machine.device(), own_channel, members, std::move(operands)));
  if (const Value* missing = FindMissing(*meeting)) return *missing;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto shardings, ShardingsOf(call, false));
  for (size_t i = meeting->results.size(); i < call.operands.size(); ++i) {
    const Shape* shape = PartOfShape(call, i);
    if (shape == nullptr || i >= shardings.size()) {
      return Unsupported(call, "it has fewer shardings or results than operands");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Value whole, PutTogether(call, *meeting, i, shardings[i], *shape));
    meeting->results.push_back(std::move(whole));
  }
  if (meeting->results.empty() || call.shape().IsTuple()) return Value::Tuple(meeting->results);
  return meeting->results[0];
}

}  // namespace hloscope::eval
