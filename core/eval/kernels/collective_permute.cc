// Kernels of collective-permute and ragged-all-to-all: what each device sends to which others.
#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/checked.h"
#include "core/eval/kernels/collectives.h"
#include "core/eval/loops/blocks.h"
#include "core/eval/machine/indices.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;
using Index = std::vector<int64_t>;

// Whom a device sends to and whom it receives from.
struct Partners {
  std::vector<int64_t> targets, sources;
};

Partners PartnersOf(const KernelCall& call) {
  const hlo::DeviceCounts& counts = call.machine.devices().counts();
  const int64_t device = call.machine.device();
  const hlo::GroupMode mode = hlo::GroupModeOf(call.module(), call.id, counts);
  const int64_t ids = hlo::IdCount(mode, counts);
  Partners partners;
  for (const auto& [source, target] : hlo::SourceTargetPairs(call.module(), call.id)) {
    if (source < 0 || source >= ids || target < 0 || target >= ids) continue;
    const int64_t from = hlo::DeviceOf(mode, source, device, counts);
    const int64_t to = hlo::DeviceOf(mode, target, device, counts);
    if (from == device) partners.targets.push_back(to);
    if (to == device) partners.sources.push_back(from);
  }
  return partners;
}

// Sends `letter` to all targets; what comes from the one source, nothing where there is none.
Result<std::optional<std::vector<Value>>> Exchange(KernelCall& call, const Partners& partners,
                                                   const std::vector<Value>& letter) {
  DeviceSet& devices = call.machine.devices();
  const int64_t channel = call.module().GetInt(call.instruction(), AttributeKey::kChannelId);
  const int64_t device = call.machine.device();
  for (int64_t target : partners.targets) {
    devices.Post({hlo::Opcode::kCollectivePermute, channel, device, target}, letter);
  }
  if (partners.sources.empty()) return std::nullopt;
  if (partners.sources.size() > 1)
    return Unsupported(call, "several devices send to the same device");
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Value> got,
                            devices.Collect(call.id, {hlo::Opcode::kCollectivePermute, channel,
                                                      partners.sources[0], device}));
  return std::optional(std::move(got));
}

bool IsInPlace(const KernelCall& call) {
  return call.operands.size() == 4 &&
         (call.module().shape(call.module().operands(call.id)[2]).IsTuple() ||
          call.module().GetBool(call.instruction(), AttributeKey::kInplace));
}

// "{{128,32},{1,2}}": the lists inside.
std::vector<Index> ReadSliceSizes(const KernelCall& call) {
  const auto* raw =
      call.module().Get<hlo::RawAttribute>(call.instruction(), AttributeKey::kPermuteSliceSizes);
  std::vector<Index> lists;
  if (raw == nullptr) return lists;
  hlo::TextCursor cursor(call.module()[raw->text]);
  cursor.Consume('{');
  while (cursor.Consume('{')) {
    Index& list = lists.emplace_back();
    while (const auto size = cursor.ReadInt()) {
      list.push_back(*size);
      cursor.Consume(',');
    }
    cursor.Consume('}');
    cursor.Consume(',');
  }
  return lists;
}

// The starts of slices: a tuple of one scalar per dimension, or a tuple of such tuples.
std::optional<std::vector<Index>> ReadStarts(const Value& value) {
  if (!value.is_tuple()) return std::nullopt;
  std::vector<Index> starts(1);
  for (const Value& element : value.elements()) {
    if (element.is_array() && ElementCount(element.shape()) == 1) {
      starts[0].push_back(ReadIndices(element)[0]);
      continue;
    }
    const auto inner = ReadStarts(element);  // shapes nest no deeper than the limit
    if (!inner) return std::nullopt;
    if (starts[0].empty()) starts.clear();
    starts.insert(starts.end(), inner->begin(), inner->end());
  }
  return starts;
}

bool IsWithin(const Shape& shape, const Index& start, const Index& sizes) {
  if (start.size() != shape.rank() || sizes.size() != shape.rank()) return false;
  for (size_t d = 0; d < start.size(); ++d) {
    const auto end = CheckedAdd(start[d], sizes[d]);
    if (start[d] < 0 || sizes[d] < 0 || !end || *end > shape.dimension(d)) return false;
  }
  return true;
}

// Slices of the first operand go into the second one of the target. Where devices disagree about
// the place, nothing says whose counts.
Result<Value> PermuteInPlace(KernelCall& call) {
  for (const Value& operand : call.operands) {
    if (operand.is_missing()) return operand;
  }
  const auto sizes = ReadSliceSizes(call);
  const auto from = ReadStarts(call.operands[2]);
  const auto to = ReadStarts(call.operands[3]);
  if (!call.operands[0].is_array() || !call.operands[1].is_array() || !from || !to ||
      from->size() != sizes.size() || to->size() != sizes.size()) {
    return Unsupported(call, "the number of its slices does not match its offsets");
  }
  const Value input = call.operands[0];
  const int bytes = hlo::StorageBytes(input.shape().element_type());
  std::vector<Value> letter = {call.operands[3]};
  for (size_t s = 0; s < sizes.size(); ++s) {
    if (!IsWithin(input.shape(), (*from)[s], sizes[s]) ||
        !IsWithin(call.operand_shape(1), (*to)[s], sizes[s])) {
      return Unsupported(call, "a slice lies outside its buffer");
    }
    const Shape shape = Shape::Array(input.shape().element_type(), sizes[s]);
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer slice, call.machine.Allocate(shape));
    const Index zero(sizes[s].size(), 0);
    CopyBlock(sizes[s], bytes, {input.shape().dimensions(), (*from)[s]}, input.data(),
              {sizes[s], zero}, slice.data());
    letter.push_back(Value::Array(shape, std::move(slice)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto got, Exchange(call, PartnersOf(call), letter));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer result, OwnCopy(call, 1));
  const Shape& shape = call.module().shape(call.module().operands(call.id)[1]);
  if (got) {
    if (got->size() != letter.size() || ReadStarts((*got)[0]) != to) {
      return Unsupported(call, "source and target give different offsets for a slice");
    }
    for (size_t s = 0; s < sizes.size(); ++s) {
      const Index zero(sizes[s].size(), 0);
      CopyBlock(sizes[s], bytes, {sizes[s], zero}, (*got)[s + 1].data(),
                {shape.dimensions(), (*to)[s]}, result.data());
    }
  }
  std::vector<Value> results;
  results.push_back(Value::Array(shape, std::move(result)));
  call.operands[1] = results[0];
  return OneOrTuple(call, std::move(results), true);
}

}  // namespace

// A device that nobody sends to receives zeros.
Result<Value> CollectivePermuteKernel(KernelCall& call) {
  if (IsInPlace(call)) return PermuteInPlace(call);
  const std::vector<Value> letter(call.operands.begin(), call.operands.end());
  HLOSCOPE_ASSIGN_OR_RETURN(auto got, Exchange(call, PartnersOf(call), letter));
  if (got && got->size() != letter.size()) {
    return Unsupported(call, "its number of operands differs across devices");
  }
  std::vector<Value> results;
  for (size_t o = 0; o < letter.size(); ++o) {
    if (got && (*got)[o].is_missing()) return (*got)[o];
    if (got) {
      results.push_back((*got)[o]);
      continue;
    }
    if (!letter[o].is_array()) return letter[o];
    HLOSCOPE_ASSIGN_OR_RETURN(Value zeros, Zeros(call, letter[o].shape()));
    results.push_back(std::move(zeros));
  }
  return OneOrTuple(call, std::move(results), true);
}

// Operands: input, output, and of each piece where it begins in the sender's input, how long it is,
// where it begins in the receiver's output (all said by the sender), and how long what comes is.
// With n members, the k-th n-th part of each list is about member k.
Result<Value> RaggedAllToAllKernel(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Gathering here, GroupRendezvous(call));
  if (here.rendezvous == nullptr) return Unsupported(call, "the device is in no replica group");
  if (const Value* missing = FindMissing(*here.rendezvous)) return *missing;
  const size_t members = here.rendezvous->members.size();
  const Shape shape = call.operand_shape(1);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer result, OwnCopy(call, 1));
  const int64_t rows = shape.dimension(0);
  const auto row_bytes = rows == 0 ? 0 : static_cast<int64_t>(result.size) / rows;
  for (const auto& brought : here.rendezvous->brought) {
    const auto starts = ReadIndices(brought[2]), sizes = ReadIndices(brought[3]),
               places = ReadIndices(brought[4]);
    const size_t pieces = starts.size() / members;
    for (size_t i = here.position * pieces; i < (here.position + 1) * pieces; ++i) {
      const auto from_end = CheckedAdd(starts[i], sizes[i]);
      const auto to_end = CheckedAdd(places[i], sizes[i]);
      if (starts[i] < 0 || sizes[i] < 0 || places[i] < 0 || !from_end || !to_end ||
          *from_end > brought[0].shape().dimension(0) || *to_end > rows) {
        return Unsupported(call, "a slice lies outside its buffer");
      }
      std::memcpy(result.data() + places[i] * row_bytes, brought[0].data() + starts[i] * row_bytes,
                  static_cast<size_t>(sizes[i] * row_bytes));
    }
  }
  std::vector<Value> results;
  results.push_back(Value::Array(shape, std::move(result)));
  return OneOrTuple(call, std::move(results), true);
}

}  // namespace hloscope::eval
