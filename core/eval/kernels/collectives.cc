// Kernels of collectives that move elements without changing them.
#include "core/eval/kernels/collectives.h"

#include <algorithm>
#include <optional>

#include "core/eval/loops/blocks.h"

namespace hloscope::eval {

using hlo::AttributeKey;
using hlo::Shape;

namespace {

int64_t ChannelOf(const KernelCall& call) {
  return std::max<int64_t>(call.module().GetInt(call.instruction(), AttributeKey::kChannelId), 0);
}

Result<Value> Number(KernelCall& call, int64_t value) {
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(call.shape()));
  *buffer.as<uint32_t>() = static_cast<uint32_t>(value);
  return Value::Array(call.shape(), std::move(buffer));
}

std::optional<size_t> OneDimension(const KernelCall& call) {
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  if (dimensions.size() != 1 || dimensions[0] < 0) return std::nullopt;
  return static_cast<size_t>(dimensions[0]);
}

std::unexpected<Error> InNoGroup(const KernelCall& call) {
  return Unsupported(call, "device " + std::to_string(call.machine.device()) +
                               " is in none of its replica groups");
}

std::vector<Value> Column(const RendezvousState& rendezvous, size_t operand) {
  std::vector<Value> values;
  values.reserve(rendezvous.brought.size());
  for (const auto& brought : rendezvous.brought) values.push_back(brought[operand]);
  return values;
}

bool SameCounts(const RendezvousState& rendezvous) {
  return std::ranges::all_of(rendezvous.brought, [&](const auto& each) {
    return each.size() == rendezvous.brought[0].size();
  });
}

}  // namespace

Result<Gathering> GroupRendezvous(KernelCall& call) {
  DeviceSet& devices = call.machine.devices();
  const int64_t device = call.machine.device();
  HLOSCOPE_ASSIGN_OR_RETURN(const DeviceGroup group, devices.GroupOf(call.id, device));
  if (group.members.empty()) return Gathering{};
  std::vector<Value> operands(call.operands.begin(), call.operands.end());
  HLOSCOPE_ASSIGN_OR_RETURN(
      auto rendezvous,
      devices.Rendezvous(call.id, device, ChannelOf(call), group.members, std::move(operands)));
  if (!SameCounts(*rendezvous))
    return Unsupported(call, "its number of operands differs across devices");
  return Gathering{std::move(rendezvous), group.position};
}

const Value* FindMissing(const RendezvousState& rendezvous) {
  for (const auto& brought : rendezvous.brought) {
    for (const Value& value : brought) {
      if (value.is_missing()) return &value;
    }
  }
  return nullptr;
}

const Shape* ResultShape(const KernelCall& call, size_t i, bool start_keeps_operands) {
  const Shape* shape = &call.shape();
  if (start_keeps_operands && hlo::HasFlag(call.opcode(), hlo::kFlagStart)) {
    if (!shape->IsTuple() || shape->elements().size() < 2) return nullptr;
    shape = &shape->elements()[1];
  }
  if (!shape->IsTuple()) return i == 0 ? shape : nullptr;
  return i < shape->elements().size() ? &shape->elements()[i] : nullptr;
}

Value OneOrTuple(const KernelCall& call, std::vector<Value> results, bool start_keeps_operands) {
  const bool is_start = start_keeps_operands && hlo::HasFlag(call.opcode(), hlo::kFlagStart);
  const Shape& shape = is_start ? call.shape().elements()[1] : call.shape();
  Value result = shape.IsTuple() ? Value::Tuple(std::move(results)) : std::move(results[0]);
  if (!is_start) return result;
  std::vector<Value> operands(call.operands.begin(), call.operands.end());
  std::vector<Value> parts = {
      call.shape().elements()[0].IsTuple() ? Value::Tuple(operands) : operands[0],
      std::move(result)};
  for (const Shape& context : call.shape().elements().subspan(2)) {
    Result<Value> zeros =
        context.IsArray()
            ? Result<Value>(Value::Array(hlo::Literal::Dense(
                  context,
                  std::vector<std::byte>(static_cast<size_t>(context.ByteSize().value_or(0))))))
            : Result<Value>(Value::Token());
    parts.push_back(*std::move(zeros));
  }
  return Value::Tuple(std::move(parts));
}

Result<Value> ReplicaIdKernel(KernelCall& call) {
  return Number(call, call.machine.device() / call.machine.devices().counts().partitions);
}

Result<Value> PartitionIdKernel(KernelCall& call) {
  return Number(call, call.machine.device() % call.machine.devices().counts().partitions);
}

Result<Value> AllGatherKernel(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Gathering here, GroupRendezvous(call));
  if (here.rendezvous == nullptr) return InNoGroup(call);
  if (const Value* missing = FindMissing(*here.rendezvous)) return *missing;
  const auto dimension = OneDimension(call);
  if (!dimension) return Unsupported(call, "its dimension is missing");
  std::vector<Value>& results = here.rendezvous->results;
  for (size_t o = results.size(); o < call.operands.size(); ++o) {
    const Shape* shape = ResultShape(call, o, true);
    if (shape == nullptr) return Unsupported(call, "it has too few results");
    HLOSCOPE_ASSIGN_OR_RETURN(Value all,
                              Joined(call, Column(*here.rendezvous, o), *dimension, *shape));
    results.push_back(std::move(all));
  }
  return OneOrTuple(call, results, true);
}

Result<Value> CollectiveBroadcastKernel(KernelCall& call) {
  if (call.module().GetBool(call.instruction(), AttributeKey::kHasDynamicRoot)) {
    return Unsupported(call, "its root device is dynamic");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Gathering here, GroupRendezvous(call));
  if (here.rendezvous != nullptr) return OneOrTuple(call, here.rendezvous->brought[0], true);
  std::vector<Value> zeros;  // as StableHLO's collective_broadcast says
  for (size_t o = 0; o < call.operands.size(); ++o) {
    if (!call.operands[o].is_array()) return call.operands[o];
    HLOSCOPE_ASSIGN_OR_RETURN(Value zero, Zeros(call, call.operand_shape(o)));
    zeros.push_back(std::move(zero));
  }
  return OneOrTuple(call, std::move(zeros), true);
}

// With dimensions= the operand is cut along it and piece i goes to the i-th of the group; without,
// operand i goes there. What comes is put together in the order of the group.
Result<Value> AllToAllKernel(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Gathering here, GroupRendezvous(call));
  if (here.rendezvous == nullptr) return InNoGroup(call);
  if (const Value* missing = FindMissing(*here.rendezvous)) return *missing;
  const auto& brought = here.rendezvous->brought;
  const auto dimension = OneDimension(call);
  std::vector<Value> pieces;
  for (const auto& operands : brought) {
    if (!dimension) {
      if (here.position >= operands.size()) return Unsupported(call, "it has too few operands");
      pieces.push_back(operands[here.position]);
      continue;
    }
    const auto count = static_cast<int64_t>(brought.size());
    const Shape& whole = operands[0].shape();
    if (*dimension >= whole.rank() || whole.dimension(*dimension) % count != 0) {
      return Unsupported(call, "its group size does not divide the dimension");
    }
    const int64_t size = whole.dimension(*dimension) / count;
    HLOSCOPE_ASSIGN_OR_RETURN(
        Value piece,
        SliceOf(call, operands[0], *dimension, size * static_cast<int64_t>(here.position), size));
    pieces.push_back(std::move(piece));
  }
  if (!dimension) return OneOrTuple(call, std::move(pieces), true);
  const Shape* shape = ResultShape(call, 0, true);
  if (shape == nullptr) return Unsupported(call, "it has no result");
  HLOSCOPE_ASSIGN_OR_RETURN(Value all, Joined(call, pieces, *dimension, *shape));
  std::vector<Value> results;
  results.push_back(std::move(all));
  return OneOrTuple(call, std::move(results), true);
}

}  // namespace hloscope::eval
