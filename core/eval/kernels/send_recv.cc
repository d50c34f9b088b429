// Kernels of send and recv: letters between devices by channel and source-target pairs. A send
// never waits; recv-done does.
#include <algorithm>
#include <optional>

#include "core/eval/kernels/collectives.h"
#include "core/eval/loops/blocks.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Opcode;
using hlo::Shape;

// What the u32 of a recv's result says to its recv-done: 0 nobody sends, 1 + the sender otherwise.
constexpr uint32_t kNobody = 0;

int64_t ChannelOf(const KernelCall& call) {
  return call.module().GetInt(call.instruction(), AttributeKey::kChannelId);
}

bool IsHostTransfer(const KernelCall& call) {
  return call.module().GetBool(call.instruction(), AttributeKey::kIsHostTransfer);
}

// The partners of this device: targets of a send, sources of a recv. Without pairs a lone device
// writes to itself.
Result<std::vector<int64_t>> PartnersOf(const KernelCall& call, bool sends) {
  const hlo::DeviceCounts& counts = call.machine.devices().counts();
  const int64_t device = call.machine.device();
  const auto pairs = hlo::SourceTargetPairs(call.module(), call.id);
  if (pairs.empty() && counts.devices() == 1) return std::vector<int64_t>{0};
  if (pairs.empty()) {
    return Unsupported(call, "it has no _xla_send_recv_source_target_pairs");
  }
  const hlo::GroupMode mode = hlo::GroupModeOf(call.module(), call.id, counts);
  const int64_t ids = hlo::IdCount(mode, counts);
  std::vector<int64_t> partners;
  for (const auto& [source, target] : pairs) {
    if (source < 0 || source >= ids || target < 0 || target >= ids) continue;
    const int64_t from = hlo::DeviceOf(mode, source, device, counts);
    const int64_t to = hlo::DeviceOf(mode, target, device, counts);
    if ((sends ? from : to) == device) partners.push_back(sends ? to : from);
  }
  return partners;
}

bool AnySend(const KernelCall& call) {
  const hlo::Module& module = call.module();
  return std::ranges::any_of(module.instructions(), [&](const hlo::Instruction& instruction) {
    return instruction.opcode == Opcode::kSend &&
           module.GetInt(instruction, AttributeKey::kChannelId) == ChannelOf(call);
  });
}

Result<Value> ZerosOf(KernelCall& call, const Shape& shape) {
  if (!shape.IsArray()) return Unsupported(call, "it receives no array");
  return Zeros(call, shape);
}

}  // namespace

Result<Value> SendKernel(KernelCall& call) {
  const Value context = Value::Array(
      hlo::Literal::Dense(Shape::Scalar(hlo::ElementType::kU32), std::vector<std::byte>(4)));
  Value result = Value::Tuple({call.operands[0], context, Value::Token()});
  if (IsHostTransfer(call)) return result;  // nothing here looks at what the host gets
  HLOSCOPE_ASSIGN_OR_RETURN(const auto targets, PartnersOf(call, true));
  for (int64_t target : targets) {
    call.machine.devices().Post({Opcode::kSend, ChannelOf(call), call.machine.device(), target},
                                {call.operands[0]});
  }
  return result;
}

Result<Value> RecvKernel(KernelCall& call) {
  const Shape& shape = call.shape();
  if (!shape.IsTuple() || shape.elements().empty()) return Unsupported(call, "it receives nothing");
  uint32_t sender = kNobody;
  Result<Value> data = Value::Token();
  if (IsHostTransfer(call)) {
    data = Unsupported(call, "it receives data from the host, which the file does not hold");
  } else if (!AnySend(call)) {
    data = Unsupported(call, "no instruction sends on its channel");
  } else {
    const auto sources = PartnersOf(call, false);
    if (!sources.has_value()) {
      data = std::unexpected(sources.error());
    } else if (sources->size() > 1) {
      data = Unsupported(call, "several devices send to the same device");
    } else {
      if (!sources->empty()) sender = static_cast<uint32_t>((*sources)[0]) + 1;
      data = ZerosOf(call, shape.elements()[0]);
    }
  }
  const Value first = data.has_value() ? *data : Value::Missing(data.error());
  const auto context =
      hlo::Literal::Of<uint32_t>(Shape::Scalar(hlo::ElementType::kU32), {{sender}});
  return Value::Tuple({first, Value::Array(context), Value::Token()});
}

Result<Value> RecvDoneKernel(KernelCall& call) {
  const Value& recv = call.operands[0];
  if (recv.is_missing()) return recv;
  if (!recv.is_tuple() || recv.elements().size() < 2)
    return Unsupported(call, "its operand is not a recv");
  const Value data = recv.elements()[0];
  const Value& context = recv.elements()[1];
  if (data.is_missing()) return Value::Tuple({data, Value::Token()});
  const uint32_t sender = *context.as<uint32_t>();
  if (sender == kNobody) return Value::Tuple({data, Value::Token()});
  HLOSCOPE_ASSIGN_OR_RETURN(
      std::vector<Value> letter,
      call.machine.devices().Collect(
          call.id, {Opcode::kSend, ChannelOf(call), static_cast<int64_t>(sender) - 1,
                    call.machine.device()}));
  return Value::Tuple({std::move(letter[0]), Value::Token()});
}

}  // namespace hloscope::eval
