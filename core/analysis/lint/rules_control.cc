// Rules about loops, the host and indices.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/analysis/lint/lint_module.h"
#include "core/analysis/place/call_counts.h"
#include "core/analysis/place/placement.h"
#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::analysis {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
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

// The integers of a constant; absent where they are not known or of another width.
std::optional<std::vector<int64_t>> IntegersOf(const LintModule& module, InstructionId id) {
  const auto* literal = module.m.Get<hlo::Literal>(module.m[id], AttributeKey::kConstantValue);
  if (literal == nullptr || literal->elided() || !literal->shape().IsArray()) return std::nullopt;
  const hlo::ElementType type = literal->shape().element_type();
  const int64_t width = hlo::StorageBytes(type);
  if (!hlo::IsInteger(type) || (width != 4 && width != 8)) return std::nullopt;
  std::vector<int64_t> out;
  if (width == 8) {
    out.assign(literal->data<int64_t>().begin(), literal->data<int64_t>().end());
  } else if (hlo::IsSigned(type)) {
    out.assign(literal->data<int32_t>().begin(), literal->data<int32_t>().end());
  } else {
    out.assign(literal->data<uint32_t>().begin(), literal->data<uint32_t>().end());
  }
  return out;
}

// The integer of a scalar constant, or of one that is broadcast.
std::optional<int64_t> ScalarOf(const LintModule& module, InstructionId id) {
  if (module.Is(id, Opcode::kBroadcast)) id = module.m.operands(id)[0];
  if (!module.Is(id, Opcode::kConstant) || !module.m.shape(id).IsScalar()) return std::nullopt;
  const auto values = IntegersOf(module, id);
  return values && values->size() == 1 ? std::optional((*values)[0]) : std::nullopt;
}

// Whether index first + k * step is positive and rising for k < count, and inside of an array.
bool IsSliceOf(int64_t size, int64_t first, int64_t step, int64_t count) {
  if (first < 0 || step <= 0 || count < 2) return false;
  const auto span = CheckedMul(step, count - 1);
  const auto last = span ? CheckedAdd(first, *span) : std::nullopt;
  return last && *last < size;
}

// Whether the elements of an array of indices are those of a slice of a dimension of this size: an
// arithmetic progression that rises and stays inside, for out of it a gather clamps or masks.
// Through what JAX puts around them: the choice between i and i + n for negative ones, conversions,
// reshapes, products and sums with a constant.
bool AreOfSlice(const LintModule& module, InstructionId id, int64_t size) {
  const hlo::Module& m = module.m;
  int64_t scale = 1, offset = 0;  // an index is scale * i + offset, i an element of `id`
  for (int steps = 0; steps < kMaxChain; ++steps) {
    const auto operands = m.operands(id);
    switch (m[id].opcode) {
      case Opcode::kIota: {
        // Of more elements than its dimension has it repeats some.
        const auto dimension = static_cast<size_t>(m.GetInt(m[id], AttributeKey::kIotaDimension));
        if (dimension >= m.shape(id).rank()) return false;
        const int64_t count = m.shape(id).dimension(dimension);
        return m.shape(id).ElementCount() == count && IsSliceOf(size, offset, scale, count);
      }
      case Opcode::kConstant: {
        const auto values = IntegersOf(module, id);
        if (!values || values->size() < 3) return false;  // two numbers always are one
        const auto step = CheckedSub((*values)[1], (*values)[0]);
        for (size_t k = 2; k < values->size(); ++k) {
          if (!step || CheckedSub((*values)[k], (*values)[k - 1]) != step) return false;
        }
        const auto first = step ? CheckedMul((*values)[0], scale) : std::nullopt;
        const auto start = first ? CheckedAdd(*first, offset) : std::nullopt;
        const auto stride = step ? CheckedMul(*step, scale) : std::nullopt;
        return start && stride &&
               IsSliceOf(size, *start, *stride, static_cast<int64_t>(values->size()));
      }
      case Opcode::kConvert: {
        // To a narrower type numbers wrap; none that count wraps in 32 bits.
        const ElementType from = m.shape(operands[0]).element_type(),
                          to = m.shape(id).element_type();
        const int bits = std::min(hlo::BitWidth(from), 32);
        if (!hlo::IsInteger(from) || !hlo::IsInteger(to) || hlo::BitWidth(to) < bits) return false;
        id = operands[0];
        break;
      }
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
        if (operands.size() != 2) return false;
        const auto left = ScalarOf(module, operands[0]), right = ScalarOf(module, operands[1]);
        if (left.has_value() == right.has_value()) return false;
        const auto change = CheckedMul(left ? *left : *right, scale);
        const bool adds = module.Is(id, Opcode::kAdd);
        const auto sum = adds && change ? CheckedAdd(offset, *change) : offset;
        if (!change || !sum) return false;
        (adds ? offset : scale) = adds ? *sum : *change;
        id = operands[left ? 1 : 0];
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
    if (!module.IsInLoop(id) || !ReachesHost(module, id)) continue;
    if (module.Is(id, Opcode::kCopy)) {
      out.push_back({id, SizeText(module.Bytes(id)) + " between host and device in each iteration",
                     module.Bytes(id)});
    } else {
      out.push_back({id, "one transfer from or to the host in each iteration", 0});
    }
  }
  return out;
}

template <>
std::vector<LintPlace> FindPlaces<LintKind::kTinyLoop>(const LintModule& module) {
  const hlo::Module& m = module.m;
  constexpr int64_t kMinTrips = 256, kMaxBytes = 64 << 10;
  static constexpr hlo::OpcodeSet kNotTiny = {
      Opcode::kWhile,       Opcode::kCall, Opcode::kConditional, Opcode::kDot,
      Opcode::kConvolution, Opcode::kSort, Opcode::kCustomCall};
  std::vector<LintPlace> out;
  module.EachLaunched([&](InstructionId id) {
    if (!module.Is(id, Opcode::kWhile)) return;
    const int64_t trips = KnownTripCount(m, m[id]);
    const hlo::ComputationId body = m.GetComputation(m[id], AttributeKey::kBody);
    if (trips < kMinTrips || !body.valid()) return;
    int64_t bytes = 0, kernels = 0;
    bool is_tiny = true;
    module.Each(body, [&](InstructionId inner) {
      if (hlo::HasTrait(m[inner].opcode, hlo::kTraitNoCode)) return;
      if (kNotTiny.Has(m[inner].opcode)) {
        is_tiny = false;
        return;
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
                   fmt::format("{} of {}, {} in each", Counted(trips, "iteration"),
                               Counted(kernels, "operation"), Counted(bytes, "byte")),
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
    // Indices of one dimension only, which are not those of each batch: these take a diagonal.
    if (!m.GetInts(m[id], AttributeKey::kOperandBatchingDims).empty()) continue;
    const auto map = m.GetInts(m[id], AttributeKey::kStartIndexMap);
    const auto sizes = m.GetInts(m[id], AttributeKey::kSliceSizes);
    if (map.size() != 1 || map[0] < 0 || static_cast<size_t>(map[0]) >= sizes.size()) continue;
    // Of more than one element the windows overlap, or blocks are taken: no slice.
    const hlo::Shape& array = m.shape(m.operands(id)[0]);
    const auto dimension = static_cast<size_t>(map[0]);
    if (sizes[dimension] != 1 || dimension >= array.rank() ||
        !AreOfSlice(module, m.operands(id)[1], array.dimension(dimension)))
      continue;
    out.push_back({id, SizeText(module.Bytes(id)) + " gathered", module.Bytes(id)});
  }
  return out;
}

}  // namespace hloscope::analysis
