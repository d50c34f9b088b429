// Rules about loops, the host and indices.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/analysis/lint/lint_module.h"
#include "core/analysis/place/call_counts.h"
#include "core/analysis/place/placement.h"
#include "core/base/counted.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Opcode;

constexpr int64_t kHostMemorySpace = 5;  // of GPUs and TPUs

bool ReachesHost(const LintModule& module, InstructionId id) {
  const hlo::Module& m = module.m;
  switch (m[id].opcode) {
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return true;
    case Opcode::kSend:
    case Opcode::kRecv:
      return m.GetBool(m[id], AttributeKey::kIsHostTransfer);
    case Opcode::kCustomCall:
      return IsHostCallback(m.GetString(m[id], AttributeKey::kCustomCallTarget));
    case Opcode::kCopy: {
      const hlo::Shape& to = m.shape(id);
      const hlo::Shape& from = m.shape(m.operands(id)[0]);
      return to.IsArray() && from.IsArray() && to.has_layout() && from.has_layout() &&
             (to.layout().memory_space() == kHostMemorySpace) !=
                 (from.layout().memory_space() == kHostMemorySpace);
    }
    default:
      return false;
  }
}

// Whether the elements of an array of indices are an arithmetic progression, through what JAX puts
// around them: the choice between i and i + n for negative ones, conversions, reshapes.
bool IsProgression(const LintModule& module, InstructionId id) {
  const hlo::Module& m = module.m;
  for (int steps = 0; steps < kMaxChain; ++steps) {
    const auto operands = m.operands(id);
    switch (m[id].opcode) {
      case Opcode::kIota:
        return m.shape(id).ElementCount().value_or(0) > 1;
      case Opcode::kConstant: {
        const auto* literal = m.Get<hlo::Literal>(m[id], AttributeKey::kConstantValue);
        if (literal == nullptr || literal->elided() || !literal->shape().IsArray()) return false;
        const hlo::ElementType type = literal->shape().element_type();
        const size_t width = static_cast<size_t>(hlo::StorageBytes(type));
        if (!hlo::IsInteger(type) || (width != 4 && width != 8)) return false;
        const size_t count = literal->bytes().size() / width;
        if (count < 3) return false;  // two numbers always are one
        auto at = [&](size_t k) -> int64_t {
          if (width == 4) return literal->data<int32_t>()[k];
          return literal->data<int64_t>()[k];
        };
        const uint64_t step = static_cast<uint64_t>(at(1)) - static_cast<uint64_t>(at(0));
        if (static_cast<int64_t>(step) <= 0) return false;
        for (size_t k = 2; k < count; ++k) {
          if (static_cast<uint64_t>(at(k)) - static_cast<uint64_t>(at(k - 1)) != step) return false;
        }
        return true;
      }
      case Opcode::kConvert:
      case Opcode::kReshape:
      case Opcode::kBitcast:
      case Opcode::kCopy:
        id = operands[0];
        break;
      case Opcode::kBroadcast:
        // Of more elements it repeats some.
        if (m.shape(id).ElementCount() != m.shape(operands[0]).ElementCount()) return false;
        id = operands[0];
        break;
      case Opcode::kSelect:
        if (operands.size() != 3 || !module.Is(operands[1], Opcode::kAdd)) return false;
        if (m.operands(operands[1])[0] != operands[2]) return false;
        id = operands[2];
        break;
      case Opcode::kAdd:
      case Opcode::kMultiply: {
        auto is_scalar = [&](InstructionId operand) {
          if (module.Is(operand, Opcode::kBroadcast)) operand = m.operands(operand)[0];
          return module.Is(operand, Opcode::kConstant) && m.shape(operand).IsScalar();
        };
        if (operands.size() != 2 || is_scalar(operands[0]) == is_scalar(operands[1])) return false;
        id = is_scalar(operands[0]) ? operands[1] : operands[0];
        break;
      }
      default:
        return false;
    }
  }
  return false;
}

}  // namespace

template <>
std::vector<LintPlace> FindPlaces<LintKind::kHostInLoop>(const LintModule& module) {
  std::vector<LintPlace> out;
  for (uint32_t k = 0; k < module.m.instructions().size(); ++k) {
    const InstructionId id(k);
    if (module.IsInLoop(id) && ReachesHost(module, id))
      out.push_back({id, "one round trip to the host in each iteration", 0});
  }
  return out;
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kTinyLoop>(const LintModule& module) {
  const hlo::Module& m = module.m;
  constexpr int64_t kMinTrips = 256, kMaxBytes = 64 << 10;
  std::vector<LintPlace> out;
  module.EachLaunched([&](InstructionId id) {
    if (!module.Is(id, Opcode::kWhile)) return;
    const int64_t trips = KnownTripCount(m, m[id]);
    const hlo::ComputationId body = m.GetComputation(m[id], AttributeKey::kBody);
    if (trips < kMinTrips || !body.valid()) return;
    int64_t bytes = 0, kernels = 0;
    bool is_tiny = true;
    module.Each(body, [&](InstructionId inner) {
      switch (m[inner].opcode) {
        case Opcode::kParameter:
        case Opcode::kTuple:
        case Opcode::kGetTupleElement:
        case Opcode::kConstant:
        case Opcode::kBitcast:
          return;
        case Opcode::kWhile:
        case Opcode::kCall:
        case Opcode::kConditional:
        case Opcode::kDot:
        case Opcode::kConvolution:
        case Opcode::kSort:
        case Opcode::kCustomCall:
          is_tiny = false;
          return;
        default:
          break;
      }
      if (hlo::ComputationId inside = module.Body(inner); inside.valid()) {
        module.Each(inside, [&](InstructionId deep) {
          is_tiny =
              is_tiny && !module.Is(deep, Opcode::kDot) && !module.Is(deep, Opcode::kConvolution);
        });
      }
      ++kernels;
      // An update in place writes a slice only; a reduction reads its operands.
      const InstructionId root = module.ThroughBitcasts(module.Root(inner));
      if (module.Is(root, Opcode::kDynamicUpdateSlice) && m[root].operand_count > 1) {
        bytes += module.Bytes(m.operands(root)[1]);
        return;
      }
      bytes += module.Bytes(inner);
      if (module.Is(root, Opcode::kReduce)) bytes += module.Bytes(m.operands(root)[0]);
    });
    if (!is_tiny || kernels == 0 || bytes > kMaxBytes) return;
    out.push_back({id,
                   fmt::format("{} iterations of {}, {} bytes in each", trips,
                               Counted(kernels, "operation"), bytes),
                   0});
  });
  return out;
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kGatherSlice>(const LintModule& module) {
  const hlo::Module& m = module.m;
  std::vector<LintPlace> out;
  for (uint32_t k = 0; k < m.instructions().size(); ++k) {
    const InstructionId id(k);
    if (!module.Is(id, Opcode::kGather) || m[id].operand_count != 2) continue;
    // Indices of one dimension only.
    const auto map = m.GetInts(m[id], AttributeKey::kStartIndexMap);
    const auto sizes = m.GetInts(m[id], AttributeKey::kSliceSizes);
    if (map.size() != 1 || map[0] < 0 || static_cast<size_t>(map[0]) >= sizes.size()) continue;
    // Of more than one element the windows overlap, or blocks are taken: no slice.
    if (sizes[static_cast<size_t>(map[0])] != 1 || !IsProgression(module, m.operands(id)[1]))
      continue;
    out.push_back({id, MiB(module.Bytes(id)) + " gathered", module.Bytes(id)});
  }
  return out;
}

}  // namespace hloscope::analysis
