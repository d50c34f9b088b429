// dynamic-reshape of an array beside its sizes: the live elements, in their row-major order, are
// the live elements of the result. That both are as many is known to the run alone: where they are
// not, a branch that is taken nowhere else refuses.
#include <algorithm>
#include <limits>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/dynamic/dynamic_arrays.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/comparison.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

constexpr std::string_view kRefusal =
    "dynamic-reshape: the new sizes do not hold the live elements";

int64_t CountOf(const Shape& bounds) {
  int64_t count = 1;
  for (const int64_t size : bounds.dimensions()) {
    if (size != 0 && count > std::numeric_limits<int32_t>::max() / size) return INT64_MAX;
    count *= size;
  }
  return count;
}

class Reshaping {
 public:
  Reshaping(DynamicCall& call, const Shape& from, const Shape& to)
      : call_(call),
        writer_(call.writer),
        from_(BoundShape(from)),
        to_(to),
        numbers_(PlainArray(ElementType::kS32, to.dimensions())) {}

  std::optional<DynamicArray> Write() {
    if (!FindSizes()) return std::nullopt;
    const int64_t count = CountOf(from_);
    const InstructionId flat = writer_.Add("flat", Opcode::kReshape,
                                           PlainArray(from_.element_type(), std::span(&count, 1)),
                                           {call_.operands[0].whole});
    const std::vector<int64_t> first = {0}, one = {1}, none;
    const hlo::GatherDims dims = {.offset_dims = none,
                                  .collapsed_slice_dims = first,
                                  .start_index_map = first,
                                  .index_vector_dim = static_cast<int64_t>(to_.rank()),
                                  .slice_sizes = one};
    const InstructionId operands[] = {flat, Places()};
    const InstructionId taken = writer_.Add("taken", Opcode::kGather, BoundShape(to_), operands,
                                            hlo::MakeGatherDims(writer_.builder(), dims));
    DynamicArray result{taken, out_};
    result.whole = Checked(writer_.Masked(result, to_, writer_.Zero(to_.element_type())));
    return result;
  }

 private:
  InstructionId Of(Opcode opcode, InstructionId a, InstructionId b, const Shape& shape) {
    return writer_.Add("place", opcode, shape, {a, b});
  }
  InstructionId Scalars(Opcode opcode, InstructionId a, InstructionId b) {
    return Of(opcode, a, b, Shape::Scalar(ElementType::kS32));
  }
  // For each element of the result.
  InstructionId Each(Opcode opcode, InstructionId a, InstructionId scalar) {
    return Of(opcode, a, writer_.Broadcast(scalar, numbers_, {}), numbers_);
  }

  // The sizes before and behind; `out_` has none where a dimension has that of its bound.
  bool FindSizes() {
    const Module& module = writer_.original();
    for (size_t d = 0; d < from_.rank(); ++d) {
      const InstructionId size = call_.operands[0].sizes[d];
      before_.push_back(size.valid() ? size : writer_.Number(from_.dimension(d)));
    }
    for (size_t d = 0; d < to_.rank(); ++d) {
      const InstructionId given = module.operands(call_.id)[d + 1];
      if (!module.shape(given).IsScalar() ||
          module.shape(given).element_type() != ElementType::kS32) {
        return false;
      }
      const InstructionId bound = writer_.Number(to_.dimension(d));
      behind_.push_back(to_.is_dynamic_dimension(d)
                            ? writer_.Add("size", Opcode::kClamp, Shape::Scalar(ElementType::kS32),
                                          {writer_.Number(0), call_.operands[d + 1].whole, bound})
                            : bound);
      out_.push_back(to_.is_dynamic_dimension(d) ? behind_.back() : InstructionId());
      if (to_.is_dynamic_dimension(d)) continue;
      // One that cannot be shorter has to say so.
      const auto* number = module.Get<hlo::Literal>(module[given], AttributeKey::kConstantValue);
      if (number == nullptr || number->elided() || number->data<int32_t>()[0] < to_.dimension(d)) {
        return false;
      }
    }
    return true;
  }

  // Where each element of the result lies in the operand.
  InstructionId Places() {
    InstructionId rest = writer_.Broadcast(writer_.Number(0), numbers_, {});
    InstructionId stride = writer_.Number(1);
    for (size_t d = to_.rank(); d-- > 0;) {
      const InstructionId along = writer_.Add(
          "along", Opcode::kIota, numbers_, {},
          {writer_.builder().MakeInt(AttributeKey::kIotaDimension, static_cast<int64_t>(d))});
      rest = Of(Opcode::kAdd, rest, Each(Opcode::kMultiply, along, stride), numbers_);
      stride = Scalars(Opcode::kMultiply, stride, behind_[d]);
    }
    InstructionId place = writer_.Broadcast(writer_.Number(0), numbers_, {});
    int64_t bound_stride = 1;
    for (size_t d = from_.rank(); d-- > 0;) {
      InstructionId along = rest;
      if (d > 0) {
        const InstructionId size = Scalars(Opcode::kMaximum, before_[d], writer_.Number(1));
        along = Each(Opcode::kRemainder, rest, size);
        rest = Each(Opcode::kDivide, rest, size);
      }
      place = Of(Opcode::kAdd, place, Each(Opcode::kMultiply, along, writer_.Number(bound_stride)),
                 numbers_);
      bound_stride *= from_.dimension(d);
    }
    return place;
  }

  // The array, where as many elements are live behind as before.
  InstructionId Checked(InstructionId whole) {
    InstructionId counts[2] = {writer_.Number(1), writer_.Number(1)};
    for (const InstructionId size : before_) {
      counts[0] = Scalars(Opcode::kMultiply, counts[0], size);
    }
    for (const InstructionId size : behind_) {
      counts[1] = Scalars(Opcode::kMultiply, counts[1], size);
    }
    hlo::ModuleBuilder& builder = writer_.builder();
    const InstructionId fits = writer_.Add(
        "fits", Opcode::kCompare, Shape::Scalar(ElementType::kPred), {counts[0], counts[1]},
        {builder.MakeEnum(AttributeKey::kDirection,
                          static_cast<int32_t>(hlo::ComparisonDirection::kEq))});
    const Shape shape = BoundShape(to_);
    const auto branch = [&](std::string_view name, bool refuses) {
      return writer_.AddLater(call_.id, name, [shape, refuses](DynamicWriter& writer) {
        const InstructionId parameter =
            writer.Add("array", Opcode::kParameter, shape, {},
                       {writer.builder().MakeInt(AttributeKey::kParameterNumber, 0)});
        if (!refuses) return parameter;
        hlo::ModuleBuilder& inner = writer.builder();
        return writer.Add(
            "refusal", Opcode::kCustomCall, shape, {parameter},
            {inner.MakeString(AttributeKey::kCustomCallTarget, kRefusingTarget),
             inner.Make(AttributeKey::kBackendConfig, hlo::BackendConfig{inner.Intern(kRefusal)})});
      });
    };
    return writer_.Add(
        "checked", Opcode::kConditional, shape, {fits, whole, whole},
        {builder.MakeComputation(AttributeKey::kTrueComputation, branch("fitting", false)),
         builder.MakeComputation(AttributeKey::kFalseComputation, branch("refusing", true))});
  }

  DynamicCall& call_;
  DynamicWriter& writer_;
  Shape from_;
  const Shape& to_;
  Shape numbers_;
  std::vector<InstructionId> before_, behind_, out_;  // sizes
};

}  // namespace

std::optional<DynamicArray> DynamicReshape(DynamicCall& call) {
  const Module& module = call.writer.original();
  const Shape& from = module.shape(module.operands(call.id)[0]);
  const Shape& to = module.shape(call.id);
  // Zeros are what stands behind the sizes; this type has none.
  if (to.element_type() == ElementType::kF8E8M0FNU || CountOf(BoundShape(from)) == INT64_MAX ||
      CountOf(BoundShape(to)) == INT64_MAX || CountOf(BoundShape(from)) == 0) {
    return std::nullopt;
  }
  return Reshaping(call, from, to).Write();
}

}  // namespace hloscope::compile
