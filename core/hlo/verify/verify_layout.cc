// Layout-sensitive rules (XLA: HloVerifierOpts::layout_sensitive with LayoutAssignment's list of
// opcodes that keep layouts, and what the CPU and GPU backends add). Findings are strict ones.
#include "core/hlo/verify/verify_layout.h"

#include <algorithm>

#include "core/hlo/opcode_traits.h"
#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {
namespace {

constexpr int64_t kDefaultMemory = 0;
constexpr int64_t kFastMemory = 1;
constexpr int64_t kHostMemory = 5;

bool SameExtras(const LayoutExtras& a, const LayoutExtras& b, unsigned ignore) {
  if (&a == &b) return true;
  return ((ignore & kIgnoreTiles) || a.tiles == b.tiles) &&
         ((ignore & kIgnoreMemorySpace) || a.memory_space == b.memory_space) &&
         ((ignore & kIgnoreElementSize) || a.element_size_in_bits == b.element_size_in_bits) &&
         ((ignore & kIgnoreTailPadding) ||
          a.tail_padding_alignment_in_elements == b.tail_padding_alignment_in_elements) &&
         ((ignore & kIgnoreSplits) || a.split_configs == b.split_configs);
}

bool SameArrayLayout(const Shape& a, const Shape& b, unsigned ignore) {
  if (a.rank() != b.rank()) return false;
  for (size_t d = 0; d < a.rank(); ++d) {
    if (!(ignore & kIgnoreDynamic) && a.is_dynamic_dimension(d) != b.is_dynamic_dimension(d)) {
      return false;
    }
    if (MinorToMajor(a, d) != MinorToMajor(b, d)) return false;
  }
  return SameExtras(ExtrasOf(a), ExtrasOf(b), ignore);
}

// True for the opcodes that must not change the layout of their operands (XLA:
// LayoutAssignment::InstructionCanChangeLayout).
bool KeepsLayout(Opcode opcode) {
  if (opcode == Opcode::kCopy) return false;
  return HasFlag(opcode, kFlagElementwise) || HasTrait(opcode, kTraitKeepsLayout);
}

unsigned IgnoredFor(const Instruction& i, const Shape& operand) {
  using enum Opcode;
  unsigned ignore = kIgnoreTiles | kIgnoreMemorySpace | kIgnoreDynamic;
  bool changes_size = i.opcode == kConvert || i.opcode == kCompare || i.opcode == kIsFinite ||
                      i.opcode == kScatter ||
                      (i.opcode == kSelect && operand.element_type() == ElementType::kPred);
  return changes_size ? ignore | kIgnoreElementSize : ignore;
}

// Slices move data between device and host memory in one direction only.
void CheckMemorySpaces(VerifyContext& context, InstructionId id, const Shape& operand) {
  const Instruction& i = context.module()[id];
  int64_t from = ExtrasOf(operand).memory_space;
  int64_t to = ExtrasOf(context.module().shape(id)).memory_space;
  std::string opcode(ToString(i.opcode));
  if (from == kFastMemory && to != kFastMemory) {
    context.Strict(id, "memory-space",
                   context.Name(id) + ": " + opcode + " cannot go from memory space S(1) to S(" +
                       std::to_string(to) + ")");
  } else if (i.opcode == Opcode::kDynamicSlice && from == kDefaultMemory && to == kHostMemory) {
    context.Strict(id, "memory-space",
                   context.Name(id) + ": dynamic-slice cannot go from device to host memory");
  } else if (i.opcode == Opcode::kDynamicUpdateSlice && from == kHostMemory &&
             to == kDefaultMemory) {
    context.Strict(
        id, "memory-space",
        context.Name(id) + ": dynamic-update-slice cannot go from host to device memory");
  }
}

void CheckKeptLayout(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  const Shape& result = module.shape(id);
  if (!result.IsArray()) return;
  for (InstructionId o : module.operands(i)) {
    const Instruction& producer = module[o];
    if (producer.shape == i.shape) continue;
    const Shape& operand = module[producer.shape];
    if (!operand.IsArray() || operand.rank() != result.rank()) continue;
    if (i.opcode == Opcode::kDynamicSlice || i.opcode == Opcode::kDynamicUpdateSlice) {
      CheckMemorySpaces(context, id, operand);
    }
    if (SameArrayLayout(result, operand, IgnoredFor(i, operand))) continue;
    context.Strict(id, "layout",
                   context.Name(id) + ": " + std::string(ToString(i.opcode)) +
                       " cannot change the layout, but is " + context.Text(result, true) +
                       " from " + context.Text(operand, true),
                   "insert a copy");
    return;
  }
}

void Mismatch(VerifyContext& context, InstructionId id, const Shape& actual, const Shape& expected,
              std::string_view of) {
  context.Strict(id, "layout",
                 context.Name(id) + " is " + context.Text(actual, true) + ", but " +
                     std::string(of) + " is " + context.Text(expected, true));
}

// copy to or from host memory keeps the rest of the layout (XLA: CheckShape, kCopy).
void CheckHostCopy(VerifyContext& context, InstructionId id, const Shape& operand) {
  const Shape& result = context.module().shape(id);
  if (!result.IsArray() || !operand.IsArray()) return;
  int64_t from = ExtrasOf(operand).memory_space, to = ExtrasOf(result).memory_space;
  if (from == to || (from != kHostMemory && to != kHostMemory)) return;
  bool good = to == kHostMemory ? result.element_type() == operand.element_type()
                                : result.element_type() == operand.element_type() &&
                                      SameArrayLayout(result, operand, kIgnoreMemorySpace);
  if (good) return;
  context.Strict(id, "memory-space",
                 context.Name(id) + ": a copy between host and device cannot change the layout, " +
                     context.Text(operand, true) + " to " + context.Text(result, true));
}

// Element `e` of the tuple instruction against another instruction's shape.
void CheckElement(VerifyContext& context, InstructionId at, InstructionId tuple, size_t e,
                  InstructionId part, unsigned ignore, std::string_view of) {
  const Module& module = context.module();
  if (context.SameElementLayout(module[tuple].shape, e, module[part].shape, ignore)) return;
  Mismatch(context, at, module.shape(tuple).elements()[e], module.shape(part), of);
}

void CheckWhole(VerifyContext& context, InstructionId id, InstructionId operand, unsigned ignore) {
  const Module& module = context.module();
  if (context.SameLaidOut(module[id].shape, module[operand].shape, ignore)) return;
  Mismatch(context, id, module.shape(id), module.shape(operand), "its operand");
}

// Opcodes whose result is their operand's buffer, or a part of it.
void CheckPassedThrough(VerifyContext& context, InstructionId id) {
  using enum Opcode;
  const Module& module = context.module();
  const Instruction& i = module[id];
  auto operands = module.operands(i);
  switch (i.opcode) {
    case kTuple:
      for (size_t o = 0; o < operands.size(); ++o) {
        CheckElement(context, id, id, o, operands[o], 0, "its operand");
      }
      break;
    case kGetTupleElement:
      CheckElement(context, id, operands[0],
                   static_cast<size_t>(module.GetInt(i, AttributeKey::kIndex)), id, 0,
                   "the element it takes");
      break;
    case kOptimizationBarrier:
      CheckWhole(context, id, operands[0], 0);
      break;
    case kDynamicUpdateSlice: {
      bool fused = context.IsFusion(i.computation);
      CheckWhole(context, id, operands[0], fused ? kIgnoreMemorySpace | kIgnoreTiles : 0u);
      break;
    }
    case kCopyStart:
      CheckElement(context, id, id, 1, operands[0], kMinorToMajorOnly, "its operand");
      [[fallthrough]];
    case kSend:
      CheckElement(context, id, id, 0, operands[0], kMinorToMajorOnly, "its operand");
      break;
    case kCopyDone:
      CheckElement(context, id, operands[0], 1, id, kIgnoreMemorySpace | kIgnoreSplits,
                   "the source of the copy");
      CheckElement(context, id, operands[0], 0, id, 0, "the destination of the copy");
      break;
    case kCopy:
      CheckHostCopy(context, id, module.shape(operands[0]));
      break;
    default:
      break;
  }
}

void CheckCallLayouts(VerifyContext& context, InstructionId id) {
  using enum Opcode;
  const Module& module = context.module();
  const Instruction& i = module[id];
  auto operands = module.operands(i);
  auto check = [&](ShapeId actual, ShapeId expected, std::string_view of) {
    if (context.SameLaidOut(actual, expected, 0)) return;
    Mismatch(context, id, module[actual], module[expected], of);
  };
  auto compare = [&](ComputationId c, size_t first_operand, size_t count, bool root) {
    auto parameters = context.parameters(c);
    for (size_t p = 0; p < count && p < parameters.size(); ++p) {
      check(module[operands[first_operand + p]].shape, module[parameters[p]].shape,
            "the parameter it is passed to");
    }
    if (root) check(i.shape, module[module[c].root].shape, "the root it calls");
  };
  size_t branch = 1;
  context.ForEachCallee(id, [&](ComputationId c) {
    if (i.opcode == kCall || i.opcode == kFusion) {
      compare(c, 0, operands.size(), true);
    } else if (i.opcode == kWhile) {
      compare(c, 0, 1, c == module.GetComputation(i, AttributeKey::kBody));
    } else if (i.opcode == kConditional) {
      compare(c, branch++, 1, true);
    }
  });
}

// XLA's ScanExpander turns all others into loops before layouts are assigned.
void CheckScanLayout(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  if (module.GetBool(module[id], AttributeKey::kIsAssociative)) return;
  context.Strict(id, "scan", context.Name(id) + ": backends accept only associative scans",
                 "set is_associative=true where it holds, or use a while loop");
}

// An option of XLA's verifier that XLA:GPU sets.
void CheckBroadcastOrder(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  if (std::ranges::is_sorted(module.GetInts(module[id], AttributeKey::kDimensions))) return;
  context.Strict(id, "broadcast-order",
                 context.Name(id) + ": XLA:GPU does not accept unsorted broadcast dimensions",
                 "transpose the operand and sort the dimensions");
}

void CheckShapeFacts(VerifyContext& context, InstructionId id) {
  uint8_t facts = context.shape_facts(context.module()[id].shape);
  if ((facts & (kShapeHostMemory | kShapeOddElementSize)) == 0) return;
  const Shape& shape = context.module().shape(id);
  if ((facts & kShapeHostMemory) != 0) {
    context.Strict(id, "host-memory-space",
                   context.Name(id) + " is " + context.Text(shape, true) +
                       ", but the backend accepts no values in host memory here");
  }
  if ((facts & kShapeOddElementSize) != 0) {
    context.Strict(
        id, "element-size",
        context.Name(id) + " is " + context.Text(shape, true) +
            ": CPU and GPU accept an element size, E(n), only on types smaller than a byte");
  }
}

}  // namespace

int64_t MinorToMajor(const Shape& shape, size_t position) {
  if (!shape.has_layout()) return static_cast<int64_t>(shape.rank() - 1 - position);
  const std::vector<int64_t>& order = shape.layout().minor_to_major;
  return position < order.size() ? order[position] : -1;
}

const LayoutExtras& ExtrasOf(const Shape& shape) {
  static const LayoutExtras kNone;
  return shape.has_layout() && shape.layout().extras ? *shape.layout().extras : kNone;
}

bool SameLayout(const Shape& a, const Shape& b, unsigned ignore) {
  if (&a == &b) return true;
  std::vector<std::pair<const Shape*, const Shape*>> work{{&a, &b}};
  while (!work.empty()) {
    auto [left, right] = work.back();
    work.pop_back();
    if (left->IsArray() && right->IsArray()) {
      if (!SameArrayLayout(*left, *right, ignore)) return false;
    } else {
      size_t count = std::min(left->elements().size(), right->elements().size());
      for (size_t e = 0; e < count; ++e) {
        work.emplace_back(&left->elements()[e], &right->elements()[e]);
      }
    }
  }
  return true;
}

void VerifyLayouts(VerifyContext& context) {
  const Module& module = context.module();
  for (uint32_t k = 0; k < module.instructions().size() && !context.full_of_strict(); ++k) {
    InstructionId id(k);
    const Instruction& i = module[id];
    CheckShapeFacts(context, id);
    if (KeepsLayout(i.opcode)) CheckKeptLayout(context, id);
    if (i.opcode == Opcode::kReshape || i.opcode == Opcode::kBitcast) {
      VerifyReinterpretation(context, id);
    } else if (i.opcode == Opcode::kScan) {
      CheckScanLayout(context, id);
    } else if (i.opcode == Opcode::kBroadcast) {
      CheckBroadcastOrder(context, id);
    } else {
      CheckPassedThrough(context, id);
    }
  }
  for (InstructionId id : context.with_callees()) {
    if (context.full_of_strict()) return;
    CheckCallLayouts(context, id);
  }
}

}  // namespace hloscope::hlo
