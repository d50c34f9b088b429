// The rules of what a kernel is made of: the conditions of kernel_rules.def.
#include "core/compile/kernel_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/compile/dot_form.h"
#include "core/compile/fusion/row_form.h"
#include "core/compile/scalar_computation.h"
#include "core/hlo/analysis/reducer.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/fallback_reasons.h"
#include "core/hlo/grouping.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::ElementType;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// In all windows of which each is gone through.
constexpr int64_t kMaxCombined = int64_t{1} << 32;

// Indices of no numbers: everything is found at the beginning.
bool IsIndexless(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kGather) return hlo::GatherDimsOf(module, id).start_index_map.empty();
  return opcode == Opcode::kScatter &&
         hlo::ScatterDimsOf(module, id).scatter_dims_to_operand_dims.empty();
}

bool AreKernelArrays(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  for (size_t k = 0; k < operands.size(); ++k) {
    if (IsWholeArray(module.shape(operands[k]))) continue;
    const bool are_indices =
        k == 1 && IsIndexless(module, id) && module[id].opcode == Opcode::kGather;
    if (!are_indices || !module.shape(operands[k]).is_static()) return false;
  }
  return IsWholeArray(module.shape(id));
}

bool OperandsAgreeFrom(const Module& module, InstructionId id, size_t first, size_t end) {
  const auto operands = module.operands(id);
  for (size_t k = first; k < std::min(end, operands.size()); ++k) {
    if (module.shape(operands[k]).element_type() != module.shape(id).element_type()) return false;
  }
  return true;
}

bool AreIntegerScalars(const Module& module, std::span<const InstructionId> ids) {
  return std::ranges::all_of(ids, [&](InstructionId id) {
    return module.shape(id).IsScalar() && IsInteger(module.shape(id).element_type());
  });
}

// ---- Conditions of ELEMENTAL rows; types, sizes and dynamic dimensions have been looked at.

bool Always(const Module&, InstructionId) { return true; }

// No operand of another type than the result: no mixed precision.
bool TypesAgree(const Module& module, InstructionId id) {
  return OperandsAgreeFrom(module, id, 0, SIZE_MAX);
}

bool OperandsAgree(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return module.shape(operands[0]).element_type() == module.shape(operands[1]).element_type();
}

bool ChoicesAgree(const Module& module, InstructionId id) {
  return OperandsAgreeFrom(module, id, 1, 3);
}

bool KeepsWidth(const Module& module, InstructionId id) {
  return BitWidth(module.shape(id).element_type()) ==
         BitWidth(module.shape(module.operands(id)[0]).element_type());
}

// The result is of the real numbers that its operand is made of.
bool MakesParts(const Module& module, InstructionId id) {
  return module.shape(id).element_type() ==
         RealPart(module.shape(module.operands(id)[0]).element_type());
}

bool TakesParts(const Module& module, InstructionId id) {
  const ElementType part = RealPart(module.shape(id).element_type());
  return IsComplex(module.shape(id).element_type()) &&
         std::ranges::all_of(module.operands(id), [&](InstructionId operand) {
           return module.shape(operand).element_type() == part;
         });
}

bool RoundsToIntegers(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return IsSigned(module.shape(id).element_type()) &&
         IsFloat(module.shape(operands[0]).element_type()) &&
         IsUnsigned(module.shape(operands[1]).element_type());
}

// True if a layout keeps elements in row-major order; dimensions of one element may lie anywhere.
bool IsRowMajor(const Shape& shape) {
  if (!shape.has_layout()) return true;
  int64_t last = -1;
  for (const int64_t d : shape.layout().minor_to_major) {
    if (d < 0 || std::cmp_greater_equal(d, shape.rank())) return false;
    if (shape.dimension(static_cast<size_t>(d)) == 1) continue;
    if (last >= 0 && d > last) return false;
    last = d;
  }
  return true;
}

// A bitcast that means a reshape of row-major values.
bool KeepsOrder(const Module& module, InstructionId id) {
  const Shape& from = module.shape(module.operands(id)[0]);
  const Shape& to = module.shape(id);
  return from.element_type() == to.element_type() && from.ElementCount() == to.ElementCount() &&
         IsRowMajor(from) && IsRowMajor(to);
}

bool IsInCode(const Module& module, InstructionId id) {
  const auto* literal = module.Get<hlo::Literal>(module[id], AttributeKey::kConstantValue);
  const auto count = module.shape(id).ElementCount();
  return literal != nullptr && !literal->elided() && count && *count <= kMaxElementsInCode;
}

bool HasScalarIndices(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return OperandsAgreeFrom(module, id, 0, 1) &&
         operands.size() == 1 + module.shape(operands[0]).rank() &&
         AreIntegerScalars(module, operands.subspan(1));
}

bool HasIntegerIndices(const Module& module, InstructionId id) {
  return OperandsAgreeFrom(module, id, 0, 1) &&
         IsInteger(module.shape(module.operands(id)[1]).element_type());
}

bool AppliesScalars(const Module& module, InstructionId id) {
  const ComputationId applied = module.GetComputation(module[id], AttributeKey::kToApply);
  return IsScalarComputation(module, applied, 1) &&
         TakesTypesOf(module, applied, module.operands(id), 0) &&
         module.shape(module[applied].root).element_type() == module.shape(id).element_type();
}

// ---- Conditions of ROOT rows.

bool UpdatesAtScalarIndices(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return AreKernelArrays(module, id) && OperandsAgreeFrom(module, id, 0, 2) &&
         operands.size() == 2 + module.shape(id).rank() &&
         AreIntegerScalars(module, operands.subspan(2));
}

bool ReducesScalars(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const size_t count = operands.size() / 2;
  const auto values = operands.first(count), initial = operands.subspan(count);
  const auto is_array = [&](InstructionId operand) { return IsWholeArray(module.shape(operand)); };
  if (count == 0 || !std::ranges::all_of(operands, is_array)) return false;
  // Windows are those of rounding-legalization, which does not run where all values are asked for.
  if (hlo::RoundedFoldOf(module, id) &&
      hlo::FoldWindows(module.shape(operands[0]).dimensions(),
                       module.GetInts(module[id], AttributeKey::kDimensions))) {
    return false;
  }
  const std::span<const Shape> results = module.shape(id).results();
  const ComputationId applied = module.GetComputation(module[id], AttributeKey::kToApply);
  if (results.size() != count || !IsScalarComputation(module, applied, count) ||
      !TakesTypesOf(module, applied, values, 0) || !TakesTypesOf(module, applied, values, count)) {
    return false;
  }
  for (size_t k = 0; k < count; ++k) {
    const ElementType type = module.shape(values[k]).element_type();
    if (module.shape(initial[k]).element_type() != type || results[k].element_type() != type) {
      return false;
    }
  }
  return MakesTypesOf(module, applied, values);
}

// Windows along one dimension of which each result takes over from its neighbour.
bool ScansWindows(const Module& module, InstructionId id,
                  std::span<const hlo::WindowDimension> window) {
  const auto is_long = [](const hlo::WindowDimension& w) { return w.size > 1; };
  const auto is_dense = [](const hlo::WindowDimension& w) {
    return w.stride == 1 && w.window_dilation == 1;
  };
  const InstructionId step = module[module.GetComputation(module[id], AttributeKey::kToApply)].root;
  return std::ranges::count_if(window, is_long) == 1 && std::ranges::all_of(window, is_dense) &&
         module.shape(step).IsArray() &&
         hlo::CombinesInAnyGrouping(module[step].opcode, module.shape(step).element_type());
}

// Few places, or windows that take over from each other; else not so many in all that the
// evaluator, which slides where it can, would be much faster.
bool ReducesWindows(const Module& module, InstructionId id) {
  const auto window = hlo::WindowDimensions(hlo::FindWindow(module, id),
                                            module.shape(module.operands(id)[0]).rank());
  int64_t places = 1;
  for (const hlo::WindowDimension& w : window) {
    places = w.size > kMaxCombined / places ? kMaxCombined : places * w.size;
  }
  const auto results = module.shape(id).results()[0].ElementCount().value_or(0);
  if (places > kMaxWindowPlaces && results > kMaxCombined / places &&
      !ScansWindows(module, id, window)) {
    return false;
  }
  const auto leaves = module.shape(id).Leaves();
  return std::ranges::all_of(leaves, [](const auto& leaf) { return IsWholeArray(*leaf.second); }) &&
         ReducesScalars(module, id);
}

// Arrays, an array of indices, updates of the arrays' types, which one computation combines.
bool ScattersScalars(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const size_t count = (operands.size() - 1) / 2;
  const auto arrays = operands.first(count), updates = operands.subspan(count + 1);
  const auto is_array = [&](InstructionId operand) { return IsWholeArray(module.shape(operand)); };
  const bool are_whole = std::ranges::all_of(arrays, is_array) &&
                         std::ranges::all_of(updates, is_array) &&
                         (is_array(operands[count]) || IsIndexless(module, id));
  if (updates.size() != count || !are_whole ||
      !IsInteger(module.shape(operands[count]).element_type())) {
    return false;
  }
  const ComputationId applied = module.GetComputation(module[id], AttributeKey::kToApply);
  if (!IsScalarComputation(module, applied, count) || !TakesTypesOf(module, applied, arrays, 0) ||
      !TakesTypesOf(module, applied, updates, count)) {
    return false;
  }
  for (size_t k = 0; k < count; ++k) {
    if (module.shape(updates[k]).element_type() != module.shape(arrays[k]).element_type()) {
      return false;
    }
  }
  return MakesTypesOf(module, applied, arrays);
}

// An operand, a source and an initial value of one type, computations of such.
bool SelectsScalars(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  if (!AreKernelArrays(module, id) || !TypesAgree(module, id)) return false;
  const InstructionId twice[] = {operands[0], operands[0]};
  const auto takes = [&](ComputationId applied, ElementType result) {
    return IsScalarComputation(module, applied, 1) && TakesTypesOf(module, applied, twice, 0) &&
           module.shape(module[applied].root).element_type() == result;
  };
  return takes(module.GetComputation(module[id], AttributeKey::kSelectComputation),
               ElementType::kPred) &&
         takes(module.GetComputation(module[id], AttributeKey::kScatterComputation),
               module.shape(id).element_type());
}

// A state of two or three words, and whole elements to fill with bits.
bool MakesBits(const Module& module, InstructionId id) {
  const Shape& result = module.shape(id);
  const Shape& state = module.shape(module.operands(id)[0]);
  if (!result.IsTuple() || result.elements().size() != 2 || !IsWholeArray(state)) return false;
  const Shape& bits = result.elements()[1];
  const ElementType type = bits.element_type();
  const auto words = state.ElementCount();
  return IsWholeArray(bits) && state.element_type() == ElementType::kU64 &&
         (words == 2 || words == 3) && !IsComplex(type) && (!IsFloat(type) || BitWidth(type) >= 8);
}

// Matrices of a type that the runtime factors and solves, all of one type and with elements.
bool HasMatrices(const Module& module, InstructionId id) {
  const ElementType type = module.shape(id).element_type();
  const bool is_known = type == ElementType::kF32 || type == ElementType::kF64 ||
                        type == ElementType::kC64 || type == ElementType::kC128;
  const auto fits = [&](InstructionId each) {
    const Shape& shape = module.shape(each);
    return IsWholeArray(shape) && shape.element_type() == type && shape.rank() >= 2 &&
           shape.ElementCount().value_or(0) > 0;
  };
  return is_known && fits(id) && std::ranges::all_of(module.operands(id), fits);
}

// Dense operands and no metadata of sparse ones.
bool Multiplies(const Module& module, InstructionId id) {
  return module.operands(id).size() == 2 && AreKernelArrays(module, id);
}

bool Convolves(const Module& module, InstructionId id) {
  return hlo::ConvDimsOf(module, id).labels != nullptr && Multiplies(module, id);
}

// The first of each line, so few that sorting all would be in vain, and where they stand.
bool SelectsTopK(const Module& module, InstructionId id) {
  constexpr int64_t kElementsPerResult = 8;
  if (!IsPlainTopK(module, id)) return false;
  const Shape& in = module.shape(module.operands(id)[0]);
  const Shape& shape = module.shape(id);
  const auto values = shape.elements()[0].dimensions(), places = shape.elements()[1].dimensions();
  return std::ranges::equal(places, values) &&
         shape.elements()[1].element_type() == hlo::ElementType::kS32 && values.back() > 0 &&
         values.back() <= in.dimensions().back() / kElementsPerResult &&
         std::ranges::equal(in.dimensions().first(in.rank() - 1), values.first(in.rank() - 1));
}

// Arrays of one size, sorted by a comparator of scalars.
bool SortsByScalars(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const auto leaves = module.shape(id).LeafShapes();
  const auto is_array = [&](InstructionId operand) { return IsWholeArray(module.shape(operand)); };
  const ComputationId applied = module.GetComputation(module[id], AttributeKey::kToApply);
  if (leaves.size() != operands.size() || !std::ranges::all_of(operands, is_array) ||
      !IsScalarComputation(module, applied, 1)) {
    return false;
  }
  const auto parameters = module.Parameters(applied);
  if (parameters.size() != 2 * operands.size()) return false;
  for (size_t k = 0; k < parameters.size(); ++k) {
    const Shape& array = module.shape(operands[k / 2]);
    if (!parameters[k].valid() ||
        module.shape(parameters[k]).element_type() != array.element_type() ||
        leaves[k / 2]->element_type() != array.element_type()) {
      return false;
    }
  }
  return module.shape(module[applied].root).element_type() == ElementType::kPred;
}

// ---- The table.

using Condition = bool (*)(const Module&, InstructionId);

struct Rules {
  Condition elemental = nullptr, root = nullptr, alone = nullptr;
};

constexpr auto kRules = [] {
  std::array<Rules, hlo::kOpcodeCount> rows{};
#define ELEMENTAL(opcode, condition) \
  rows[static_cast<size_t>(Opcode::opcode)].elemental = &condition;
#define ROOT(opcode, condition) rows[static_cast<size_t>(Opcode::opcode)].root = &condition;
#define ALONE(opcode, condition) rows[static_cast<size_t>(Opcode::opcode)].alone = &condition;
#include "core/compile/kernel_rules.def"
#undef ELEMENTAL
#undef ROOT
#undef ALONE
  return rows;
}();

const Rules& RulesOf(Opcode opcode) { return kRules[static_cast<size_t>(opcode)]; }

Condition ElementalCondition(Opcode opcode) {
  const Condition row = RulesOf(opcode).elemental;
  const bool plain = row == nullptr && Info(opcode).category == hlo::Category::kElementwise;
  return plain ? &TypesAgree : row;
}

// Several results of one loop: elements of arrays of the same dimensions, or reduces of arrays of
// the same dimensions over the same of them.
bool ShareLoop(const Module& module, std::span<const InstructionId> roots) {
  const auto loop_of = [&](InstructionId id) {
    return module.shape(module[id].opcode == Opcode::kReduce ? module.operands(id)[0] : id)
        .dimensions();
  };
  const auto reduced = [&](InstructionId id) {
    return module[id].opcode == Opcode::kReduce
               ? module.GetInts(module[id], AttributeKey::kDimensions)
               : std::span<const int64_t>();
  };
  return std::ranges::all_of(roots, [&](InstructionId id) {
    return UpdatedOperands(module, id) == 0 && module.shape(id).IsArray() &&
           (module[id].opcode == Opcode::kReduce) == (module[roots[0]].opcode == Opcode::kReduce) &&
           std::ranges::equal(loop_of(id), loop_of(roots[0])) &&
           std::ranges::equal(reduced(id), reduced(roots[0]));
  });
}

// In a fusion the memory of parameters is updated, which nothing else there may read.
bool UpdatesParameters(const Module& module, const hlo::Computation& computation,
                       InstructionId id) {
  const auto all_updated = module.operands(id).first(UpdatedOperands(module, id));
  return std::ranges::all_of(all_updated, [&](InstructionId updated) {
    if (module[updated].opcode != Opcode::kParameter) return false;
    int64_t reads = 0;
    for (const Instruction& each : module.instructions(computation)) {
      reads += std::ranges::count(module.operands(each), updated);
    }
    return reads == 1;
  });
}

// Reduces of rows, and what depends on them.
bool GoesByRows(const Module& module, const hlo::Computation& computation,
                std::span<const InstructionId> roots) {
  std::vector<InstructionId> instructions;
  bool has_reduce = false;
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    const InstructionId each(computation.first_instruction + k);
    const Opcode opcode = module[each].opcode;
    has_reduce |= opcode == Opcode::kReduce;
    if (opcode != Opcode::kParameter && opcode != Opcode::kTuple) instructions.push_back(each);
  }
  return has_reduce && RowFormOf(module, instructions, roots).has_value();
}

bool IsKernelFusion(const Module& module, InstructionId id) {
  const ComputationId called = module.GetComputation(module[id], AttributeKey::kCalls);
  const int64_t kind = module.GetInt(module[id], AttributeKey::kFusionKind);
  if (!called.valid() || kind == static_cast<int64_t>(hlo::FusionKind::kCustom)) return false;
  const hlo::Computation& computation = module[called];
  const InstructionId root = computation.root;
  const bool is_tuple = module[root].opcode == Opcode::kTuple;
  const std::span<const InstructionId> roots =
      is_tuple ? module.operands(root) : std::span(&computation.root, 1);
  if (GoesByRows(module, computation, roots)) return true;
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    const InstructionId each(computation.first_instruction + k);
    if (is_tuple && each == root) continue;
    const bool is_root = std::ranges::find(roots, each) != roots.end();
    if (!(is_root ? IsKernelRoot(module, each) : IsElemental(module, each))) return false;
    for (const InstructionId operand : module.operands(each)) {
      if (!IsElemental(module, operand)) return false;
    }
  }
  if (roots.empty() || (is_tuple && !ShareLoop(module, roots))) return false;
  return UpdatesParameters(module, computation, roots[0]);
}

}  // namespace

bool IsWholeArray(const Shape& shape) {
  return shape.IsArray() && shape.is_static() && shape.ByteSize().has_value() &&
         std::ranges::find(shape.dimensions(), 0) == shape.dimensions().end();
}

bool IsElemental(const Module& module, InstructionId id) {
  const Condition condition = ElementalCondition(module[id].opcode);
  return condition != nullptr && AreKernelArrays(module, id) && condition(module, id);
}

bool IsPlainTopK(const Module& module, InstructionId id) {
  const Shape& shape = module.shape(id);
  if (module.operands(id).size() != 1 || !shape.IsTuple() || shape.elements().size() != 2) {
    return false;
  }
  const Shape& in = module.shape(module.operands(id)[0]);
  const Shape &values = shape.elements()[0], &places = shape.elements()[1];
  return IsWholeArray(in) && in.rank() > 0 && IsWholeArray(values) && IsWholeArray(places) &&
         values.element_type() == in.element_type() && !hlo::IsComplex(in.element_type()) &&
         hlo::IsInteger(places.element_type()) && values.rank() == in.rank() &&
         values.dimensions().back() <= in.dimensions().back();
}

bool IsBitcastLike(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kReshape || opcode == Opcode::kCopy || opcode == Opcode::kBitcast) {
    return IsElemental(module, id);
  }
  const auto has_bytes = [&](InstructionId each) {
    return IsWholeArray(module.shape(each)) && BitWidth(module.shape(each).element_type()) >= 8;
  };
  return opcode == Opcode::kBitcastConvert && has_bytes(id) && has_bytes(module.operands(id)[0]) &&
         module.shape(id).ByteSize() == module.shape(module.operands(id)[0]).ByteSize();
}

bool IsKernelRoot(const Module& module, InstructionId id) {
  const Condition condition = RulesOf(module[id].opcode).root;
  return condition != nullptr ? condition(module, id) : IsElemental(module, id);
}

size_t UpdatedOperands(const Module& module, InstructionId id) {
  if (module[id].opcode == Opcode::kScatter) return (module.operands(id).size() - 1) / 2;
  return module[id].opcode == Opcode::kDynamicUpdateSlice ? 1 : 0;
}

bool IsKernel(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kFusion) return IsKernelFusion(module, id);
  const Condition alone = RulesOf(opcode).alone;
  if (alone != nullptr) return alone(module, id);
  return !HasTrait(opcode, hlo::kTraitNoCode) && IsKernelRoot(module, id);
}

bool IsDotFusion(const Module& module, InstructionId id) {
  if (module[id].opcode != Opcode::kFusion) return false;
  const ComputationId called = module.GetComputation(module[id], AttributeKey::kCalls);
  if (!called.valid()) return false;
  const hlo::Computation& computation = module[called];
  const bool is_tuple = module[computation.root].opcode == Opcode::kTuple;
  InstructionId dot;
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    const InstructionId each(computation.first_instruction + k);
    if ((is_tuple && each == computation.root) || IsElemental(module, each)) continue;
    if (dot.valid() || module[each].opcode != Opcode::kDot || !IsKernel(module, each)) return false;
    dot = each;
  }
  const std::span<const InstructionId> roots =
      is_tuple ? module.operands(computation.root) : std::span(&computation.root, 1);
  const auto form = dot.valid() ? DotFormOf(module, dot) : std::nullopt;
  return form.has_value() && FillsTiles(*form) && !roots.empty() &&
         std::ranges::all_of(
             module.operands(dot),
             [&](InstructionId operand) { return module[operand].opcode == Opcode::kParameter; }) &&
         std::ranges::all_of(roots, [&](InstructionId root) {
           return root != dot && module.shape(root).IsArray() &&
                  std::ranges::equal(module.shape(root).dimensions(),
                                     module.shape(dot).dimensions());
         });
}

bool IsHorizontalLoopFusion(const Module& module, InstructionId id) {
  if (module[id].opcode != Opcode::kFusion) return false;
  const ComputationId called = module.GetComputation(module[id], AttributeKey::kCalls);
  if (!called.valid()) return false;
  const hlo::Computation& computation = module[called];
  if (module[computation.root].opcode != Opcode::kTuple) return false;
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    const InstructionId each(computation.first_instruction + k);
    if (each != computation.root && !IsElemental(module, each)) return false;
  }
  return computation.instruction_count > 1;
}

bool IsRefusal(const Module& module, InstructionId id) {
  return module[id].opcode == Opcode::kCustomCall &&
         module.GetString(module[id], AttributeKey::kCustomCallTarget) == kRefusingTarget;
}

std::string_view WhyNoKernel(const Module& module, InstructionId id) {
  if (IsKernel(module, id)) return "";
  const auto any = [&](const auto& is) {
    const auto leaves = module.shape(id).Leaves();
    return std::ranges::any_of(leaves, [&](const auto& leaf) { return is(*leaf.second); }) ||
           std::ranges::any_of(module.operands(id), [&](InstructionId operand) {
             return module.shape(operand).IsArray() && is(module.shape(operand));
           });
  };
  using hlo::FallbackReason;
  const bool is_dynamic = any([](const Shape& s) { return s.IsArray() && !s.is_static(); });
  const Opcode opcode = module[id].opcode;
  const bool is_too_large =
      IsTooLarge(module, module.GetComputation(module[id], AttributeKey::kToApply)) &&
      (RulesOf(opcode).alone != nullptr || RulesOf(opcode).root != nullptr ||
       RulesOf(opcode).elemental != nullptr);
  const bool is_mixed = ElementalCondition(opcode) == &TypesAgree && !TypesAgree(module, id);
  return Describe(is_dynamic                      ? FallbackReason::kDynamicShape
                  : opcode == Opcode::kCustomCall ? FallbackReason::kCustomCall
                  : is_too_large                  ? FallbackReason::kAppliedTooLarge
                  : is_mixed                      ? FallbackReason::kUnsupportedElementType
                                                  : FallbackReason::kUnsupportedOpcode);
}

}  // namespace hloscope::compile
