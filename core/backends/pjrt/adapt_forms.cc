// MakeSynchronous, ExpandBitcasts and InlineFusions: what only an optimiser writes, in the words of
// a module before optimisation.
#include <fmt/format.h>

#include <algorithm>

#include "core/backends/pjrt/adapt_steps.h"
#include "core/base/counted.h"
#include "core/hlo/literal.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::replay::pjrt {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

bool HasAny(const Module& module, bool (*wanted)(Opcode)) {
  return std::ranges::any_of(module.instructions(),
                             [&](const hlo::Instruction& i) { return wanted(i.opcode); });
}

// Attributes of `id` that `opcode` takes.
std::vector<Attribute> AttributesFor(const Module& module, InstructionId id, Opcode opcode) {
  std::vector<Attribute> kept;
  for (const Attribute& a : module.attributes(module[id])) {
    const auto own = hlo::Info(opcode).attributes;
    const bool takes = std::ranges::any_of(own, [&](const auto& use) { return use.key == a.key; });
    if (takes || a.key == AttributeKey::kFrontendAttributes) kept.push_back(a);
  }
  return kept;
}

class PairJoiner {
 public:
  explicit PairJoiner(AdaptState& state)
      : state_(state), module_(*state.module), rewriter_(state.module) {}

  Status Run() {
    size_t pairs = 0;
    std::vector<InstructionId> apart;  // dones whose start is not at hand
    for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
      const InstructionId id(k);
      if (!hlo::HasFlag(module_[id].opcode, hlo::kFlagDone) || module_.operands(id).empty()) {
        continue;
      }
      const bool is_joined = Join(id);
      pairs += is_joined ? 1 : 0;
      if (!is_joined && !hlo::HasFlag(module_[id].opcode, hlo::kFlagSideEffect))
        apart.push_back(id);
    }
    if (!apart.empty()) pairs += PassValues(apart);
    if (pairs == 0) return {};
    for (InstructionId id : left_over_) {
      if (rewriter_.users(id).empty()) rewriter_.Remove(id);
    }
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, rewriter_.Finish());
    state_.module = std::move(result.module);
    state_.Warn(fmt::format("{} made synchronous",
                            Counted(pairs, "asynchronous pair was", "asynchronous pairs were")));
    return {};
  }

 private:
  bool Join(InstructionId done) {
    std::vector<InstructionId> chain;  // from the done's operand to the start
    for (InstructionId id = module_.operands(done)[0];; id = module_.operands(id)[0]) {
      chain.push_back(id);
      if (module_[id].opcode != Opcode::kAsyncUpdate || module_.operands(id).empty()) break;
    }
    const InstructionId start = chain.back();
    std::vector<InstructionId> operands = rewriter_.operands(start);
    for (size_t i = chain.size() - 1; i-- > 0;) {  // updates may bind more
      const auto own = rewriter_.operands(chain[i]);
      operands.insert(operands.end(), own.begin() + 1, own.end());
    }
    const auto made = Synchronous(start, done, module_.shape(done), operands);
    if (!made) return false;
    rewriter_.ReplaceAllUses(done, *made);
    rewriter_.Remove(done);
    left_over_.insert(left_over_.end(), chain.begin(), chain.end());
    return true;
  }

  // Parts that go through other instructions (calls, loops): the start leaves all that it is said
  // to, made at once, and the done takes the result out of it. The number of dones.
  size_t PassValues(std::span<const InstructionId> dones) {
    std::vector<InstructionId> starts, updates;
    for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
      const InstructionId id(k);
      const Opcode opcode = module_[id].opcode;
      if (std::ranges::find(left_over_, id) != left_over_.end()) continue;
      const bool has_effect = hlo::HasFlag(opcode, hlo::kFlagSideEffect);
      if (hlo::HasFlag(opcode, hlo::kFlagStart) && !has_effect) starts.push_back(id);
      if (opcode == Opcode::kAsyncUpdate) updates.push_back(id);
    }
    const auto binds_more = [&](InstructionId id) { return module_.operands(id).size() != 1; };
    if (std::ranges::any_of(updates, binds_more) ||
        !std::ranges::all_of(starts, [&](InstructionId id) { return LeavesKnown(id); })) {
      return 0;  // XLA says what it does not take
    }
    for (const InstructionId id : starts) Replace(id, Left(id));
    for (const InstructionId id : updates) Replace(id, rewriter_.operands(id)[0]);
    for (const InstructionId id : dones) {
      const InstructionId left = rewriter_.operands(id)[0];
      const int place = PlaceOfResult(*hlo::StartOf(module_[id].opcode));
      if (place < 0) {
        Replace(id, left);
        continue;
      }
      const Attribute index = rewriter_.builder().MakeInt(AttributeKey::kIndex, place);
      Replace(id, rewriter_.Add(module_[id].computation, std::string(module_.name(id)) + ".sync",
                                Opcode::kGetTupleElement, module_.shape(id), {{left}}, {{index}}));
    }
    return dones.size();
  }

  void Replace(InstructionId from, InstructionId to) {
    rewriter_.ReplaceAllUses(from, to);
    rewriter_.Remove(from);
  }

  // Where the result is in what a start leaves; -1: it is all of it.
  static int PlaceOfResult(Opcode start) {
    if (start == Opcode::kAllReduceStart) return -1;
    return start == Opcode::kCopyStart ? 0 : 1;
  }
  // The place of the operand, or of the tuple of all operands.
  static int PlaceOfOperands(Opcode start) { return start == Opcode::kCopyStart ? 1 : 0; }

  // Results, operands and numbers of a context.
  bool LeavesKnown(InstructionId start) const {
    const Opcode opcode = module_[start].opcode;
    const int place = PlaceOfResult(opcode);
    if (place < 0) return true;
    const Shape& shape = module_.shape(start);
    if (!shape.IsTuple() || shape.elements().size() < 2) return false;
    for (size_t i = 2; i < shape.elements().size(); ++i) {
      const Shape& each = shape.elements()[i];
      if (!each.IsScalar() || !hlo::IsInteger(each.element_type())) return false;
    }
    const Shape& operands = shape.elements()[static_cast<size_t>(PlaceOfOperands(opcode))];
    return operands.IsTuple() || module_.operands(start).size() == 1;
  }

  InstructionId Left(InstructionId start) {
    const Opcode opcode = module_[start].opcode;
    const int place = PlaceOfResult(opcode);
    const Shape& shape = module_.shape(start);
    const std::vector<InstructionId> operands = rewriter_.operands(start);
    const InstructionId result = *Synchronous(
        start, start, place < 0 ? shape : shape.elements()[static_cast<size_t>(place)], operands);
    if (place < 0) return result;
    const std::string name(module_.name(start));
    const ComputationId where = module_[start].computation;
    std::vector<InstructionId> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const Shape& each = shape.elements()[i];
      if (std::cmp_equal(i, place)) {
        elements.push_back(result);
      } else if (std::cmp_equal(i, PlaceOfOperands(opcode))) {
        elements.push_back(
            each.IsTuple() ? rewriter_.Add(where, name + ".given", Opcode::kTuple, each, operands)
                           : operands[0]);
      } else {
        const std::vector<std::byte> zero(
            static_cast<size_t>(hlo::StorageBytes(each.element_type())));
        const Attribute value =
            rewriter_.builder().Make(AttributeKey::kConstantValue, hlo::Literal::Dense(each, zero));
        elements.push_back(rewriter_.Add(where, fmt::format("{}.context{}", name, i),
                                         Opcode::kConstant, each, {}, {{value}}));
      }
    }
    return rewriter_.Add(where, name + ".left", Opcode::kTuple, shape, elements);
  }

  // `at` is the part in whose place it is.
  std::optional<InstructionId> Synchronous(InstructionId start, InstructionId at,
                                           const Shape& shape,
                                           std::span<const InstructionId> operands) {
    const ComputationId where = module_[at].computation;
    const std::string name = std::string(module_.name(at)) + ".sync";
    if (module_[start].opcode != Opcode::kAsyncStart) {
      const auto opcode = SynchronousOf(module_[start].opcode);
      if (!opcode) return std::nullopt;
      return rewriter_.Add(where, name, *opcode, shape, operands,
                           AttributesFor(module_, start, *opcode));
    }
    const ComputationId callee = module_.GetComputation(module_[start], AttributeKey::kCalls);
    if (!callee.valid()) return std::nullopt;
    const Attribute to_apply = rewriter_.builder().MakeComputation(AttributeKey::kToApply, callee);
    return rewriter_.Add(where, name, Opcode::kCall, module_.shape(module_[callee].root), operands,
                         {{to_apply}});
  }

  AdaptState& state_;
  const Module& module_;
  hlo::Rewriter rewriter_;
  std::vector<InstructionId> left_over_;
};

// Dimensions from the slowest to the fastest in memory.
std::vector<int64_t> PhysicalOrder(const Shape& shape) {
  std::vector<int64_t> order;
  if (shape.has_layout() && shape.layout().minor_to_major.size() == shape.rank()) {
    order.assign(shape.layout().minor_to_major.rbegin(), shape.layout().minor_to_major.rend());
  } else {
    for (size_t d = 0; d < shape.rank(); ++d) order.push_back(static_cast<int64_t>(d));
  }
  return order;
}

std::vector<int64_t> Permuted(std::span<const int64_t> sizes, std::span<const int64_t> order) {
  std::vector<int64_t> permuted;
  for (int64_t d : order) permuted.push_back(sizes[static_cast<size_t>(d)]);
  return permuted;
}

// A bitcast reads the bytes as they lie in memory as another shape: a transposition to the
// operand's physical order, a reshape, and a transposition back from the result's.
class BitcastExpander {
 public:
  explicit BitcastExpander(AdaptState& state)
      : state_(state), module_(*state.module), rewriter_(state.module) {}

  Status Run() {
    for (uint32_t k = 0; k < module_.instructions().size(); ++k) {
      if (module_.instructions()[k].opcode == Opcode::kBitcast)
        HLOSCOPE_TRY(Expand(InstructionId(k)));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, rewriter_.Finish());
    state_.module = std::move(result.module);
    state_.Warn("bitcasts were replaced by transposes and reshapes");
    return {};
  }

 private:
  InstructionId Add(Opcode opcode, hlo::ElementType type, std::vector<int64_t> sizes,
                    InstructionId operand, std::span<const Attribute> attributes = {}) {
    return rewriter_.Add(where_, fmt::format("{}.part{}", name_, next_++), opcode,
                         Shape::Array(type, std::move(sizes)).WithDefaultLayouts(), {{operand}},
                         attributes);
  }

  InstructionId Transpose(InstructionId value, hlo::ElementType type,
                          std::span<const int64_t> sizes, std::span<const int64_t> order) {
    if (std::ranges::is_sorted(order)) return value;
    const Attribute dimensions = rewriter_.builder().MakeInts(AttributeKey::kDimensions, order);
    return Add(Opcode::kTranspose, type, Permuted(sizes, order), value, {{dimensions}});
  }

  // To the same bits as elements of another width, in one row.
  InstructionId Convert(InstructionId value, hlo::ElementType from, hlo::ElementType to,
                        int64_t count) {
    const int64_t from_bits = hlo::BitWidth(from), to_bits = hlo::BitWidth(to);
    if (from_bits == to_bits) {
      return Add(Opcode::kBitcastConvert, to, {count}, Add(Opcode::kReshape, from, {count}, value));
    }
    if (from_bits > to_bits) {
      const int64_t parts = from_bits / to_bits;
      value = Add(Opcode::kReshape, from, {count}, value);
      value = Add(Opcode::kBitcastConvert, to, {count, parts}, value);
      return Add(Opcode::kReshape, to, {count * parts}, value);
    }
    const int64_t parts = to_bits / from_bits;
    value = Add(Opcode::kReshape, from, {count / parts, parts}, value);
    return Add(Opcode::kBitcastConvert, to, {count / parts}, value);
  }

  Status Expand(InstructionId id) {
    const InstructionId operand = rewriter_.operands(id)[0];
    const Shape& from = module_.shape(module_.operands(id)[0]);
    const Shape& to = module_.shape(id);
    if (!from.IsArray() || !to.IsArray() || !from.is_static() || !to.is_static()) {
      return UnsupportedError(
          fmt::format("{}: a bitcast of {}", module_.name(id), hlo::ToString(from, false)));
    }
    const auto bits = [](const Shape& shape) {
      return shape.ElementCount().value_or(0) * hlo::BitWidth(shape.element_type());
    };
    if (bits(from) != bits(to)) {
      return UnsupportedError(fmt::format("{}: a bitcast of {} to {}, which differ in size",
                                          module_.name(id), hlo::ToString(from, false),
                                          hlo::ToString(to, false)));
    }
    where_ = module_[id].computation;
    name_ = module_.name(id);
    next_ = 0;
    const auto from_order = PhysicalOrder(from), to_order = PhysicalOrder(to);
    InstructionId value = Transpose(operand, from.element_type(), from.dimensions(), from_order);
    if (from.element_type() != to.element_type()) {
      value =
          Convert(value, from.element_type(), to.element_type(), from.ElementCount().value_or(0));
    }
    const std::vector<int64_t> physical = Permuted(to.dimensions(), to_order);
    value = Add(Opcode::kReshape, to.element_type(), physical, value);
    std::vector<int64_t> back(to_order.size());
    for (size_t d = 0; d < to_order.size(); ++d) {
      back[static_cast<size_t>(to_order[d])] = static_cast<int64_t>(d);
    }
    value = Transpose(value, to.element_type(), physical, back);
    rewriter_.ReplaceAllUses(id, value);
    rewriter_.Remove(id);
    return {};
  }

  AdaptState& state_;
  const Module& module_;
  hlo::Rewriter rewriter_;
  ComputationId where_;
  std::string name_;
  int next_ = 0;
};

}  // namespace

Status MakeSynchronous(AdaptState& state) {
  const auto is_done = [](Opcode opcode) { return hlo::HasFlag(opcode, hlo::kFlagDone); };
  if (!HasAny(*state.module, is_done)) return {};
  return PairJoiner(state).Run();
}

Status ExpandBitcasts(AdaptState& state) {
  if (!state.options.platform.run_passes) return {};
  if (!HasAny(*state.module, [](Opcode opcode) { return opcode == Opcode::kBitcast; })) return {};
  return BitcastExpander(state).Run();
}

// A fusion means what its computation means; XLA fuses anew.
Status InlineFusions(AdaptState& state) {
  const Module& module = *state.module;
  if (!state.options.platform.run_passes) return {};
  if (!HasAny(module, [](Opcode opcode) { return opcode == Opcode::kFusion; })) return {};
  state.module = EditModule(module, [&](InstructionId id, InstructionEdit& change) {
    if (change.opcode != Opcode::kFusion) return;
    const ComputationId callee = module.GetComputation(module[id], AttributeKey::kCalls);
    change.opcode = Opcode::kCall;
    change.attributes = {change.builder.MakeComputation(AttributeKey::kToApply, callee)};
    change.shape = module.shape(module[callee].root);
  });
  state.Warn("fusions were replaced by calls, which XLA fuses again");
  return {};
}

}  // namespace hloscope::replay::pjrt
