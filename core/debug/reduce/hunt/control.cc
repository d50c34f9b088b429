// Nodes that run other computations.
#include <algorithm>
#include <vector>

#include "core/debug/reduce/hunt/nodes.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;

namespace {

constexpr int kMaxNesting = 2;

bool HasRoundedType(const Shape& shape) {
  return hlo::IsFloat(shape.element_type()) || hlo::IsComplex(shape.element_type());
}

// Floats that came out of a computation count as rounded as they may be there.
void TakeFrom(const ProgramMaker::Body& body, Draft& draft, DraftId id) {
  draft.SetRoundings(id, std::max(draft[id].roundings, body.roundings));
  draft.SetBits(id, draft[id].bits && body.bits);
}

std::optional<DraftId> PickElement(ProgramMaker& maker, Draft& draft, DraftId tuple, int64_t i) {
  return draft.Add(Opcode::kGetTupleElement, {tuple},
                   {maker.builder().MakeInt(AttributeKey::kIndex, i)});
}

// counter < trips, of a state whose first element counts.
hlo::ComputationId LoopCondition(ProgramMaker& maker, const Draft& caller, const Shape& state,
                                 int64_t trips) {
  Draft draft = maker.Inner(caller);
  const DraftId whole = draft.AddParameter(state);
  const auto counter = PickElement(maker, draft, whole, 0);
  const DraftId bound = maker.Scalar(draft, ElementType::kS32, static_cast<double>(trips));
  const auto below =
      draft.Add(Opcode::kCompare, {*counter, bound},
                {maker.builder().MakeEnum(AttributeKey::kDirection,
                                          static_cast<int32_t>(hlo::ComparisonDirection::kLt))});
  return draft.Emit(maker.FreshName("condition"), *below);
}

// What is carried is replaced by something of its shape each time.
hlo::ComputationId LoopBody(ProgramMaker& maker, const Draft& caller, const Shape& state) {
  Draft draft = maker.Inner(caller);
  const DraftId whole = draft.AddParameter(state);
  std::vector<DraftId> carried;
  for (size_t i = 0; i < state.elements().size(); ++i) {
    const auto element = PickElement(maker, draft, whole, static_cast<int64_t>(i));
    const Shape& shape = state.elements()[i];
    // Whatever rounding there was in the iterations before; one more is let in.
    if (HasRoundedType(shape)) {
      draft.SetRoundings(*element, std::max(1, MostRoundings(shape.element_type()) - 1));
      draft.SetBits(*element, false);
    }
    carried.push_back(*element);
  }
  maker.Grow(draft, 2 + maker.Below(6));
  std::vector<DraftId> next = {
      *draft.Add(Opcode::kAdd, {carried[0], maker.Scalar(draft, ElementType::kS32, 1)})};
  for (size_t i = 1; i < carried.size(); ++i) {
    next.push_back(maker.PickOrMake(draft, state.elements()[i]));
  }
  const auto root = draft.Add(Opcode::kTuple, next);
  return draft.Emit(maker.FreshName("body"), *root);
}

}  // namespace

bool AddWhileNode(ProgramMaker& maker, Draft& draft) {
  if (draft.nesting() >= kMaxNesting) return false;
  std::vector<DraftId> initial = {maker.Scalar(draft, ElementType::kS32, 0)};
  for (uint64_t i = 0, count = 1 + maker.Below(3); i < count; ++i) {
    const auto value = maker.PickArray(draft);
    if (!value) return false;
    initial.push_back(*value);
  }
  const auto start = draft.Add(Opcode::kTuple, initial);
  if (!start) return false;
  const Shape state = draft.shape(*start);
  const int64_t trips = maker.Between(0, 4);
  const hlo::ComputationId condition = LoopCondition(maker, draft, state, trips);
  const hlo::ComputationId body = LoopBody(maker, draft, state);
  const auto loop = draft.Add(Opcode::kWhile, {*start},
                              {maker.builder().MakeComputation(AttributeKey::kCondition, condition),
                               maker.builder().MakeComputation(AttributeKey::kBody, body)});
  if (!loop) return false;
  for (size_t i = 0; i < initial.size(); ++i) {
    const auto element = PickElement(maker, draft, *loop, static_cast<int64_t>(i));
    if (!element || !HasRoundedType(state.elements()[i])) continue;
    draft.SetRoundings(*element, MostRoundings(state.elements()[i].element_type()));
    draft.SetBits(*element, false);
  }
  return true;
}

bool AddConditionalNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.PickArray(draft);
  if (!a || draft.nesting() >= kMaxNesting) return false;
  const Shape shape = draft.shape(*a);
  const bool by_pred = maker.OneIn(2);
  const DraftId choice =
      maker.PickOrMake(draft, Shape::Scalar(by_pred ? ElementType::kPred : ElementType::kS32));
  const uint64_t branches = by_pred ? 2 : 1 + maker.Below(3);
  const auto result = maker.PickArray(draft);
  const Shape wanted = draft.shape(result.value_or(*a));
  std::vector<uint32_t> ids;
  std::vector<DraftId> operands = {choice};
  ProgramMaker::Body worst;
  for (uint64_t i = 0; i < branches; ++i) {
    const auto body =
        maker.RandomBody(draft, std::vector{shape}, draft[*a].roundings, wanted, "branch");
    worst = {body.id, std::max(worst.roundings, body.roundings), worst.bits && body.bits};
    ids.push_back(body.id.index);
    operands.push_back(*a);
  }
  hlo::ModuleBuilder& b = maker.builder();
  std::vector<hlo::Attribute> attributes;
  if (by_pred) {
    attributes = {b.MakeComputation(AttributeKey::kTrueComputation, hlo::ComputationId(ids[0])),
                  b.MakeComputation(AttributeKey::kFalseComputation, hlo::ComputationId(ids[1]))};
  } else {
    attributes = {b.MakeIds(AttributeKey::kBranchComputations, ids)};
  }
  const auto id = draft.Add(Opcode::kConditional, operands, attributes);
  if (id) TakeFrom(worst, draft, *id);
  return id.has_value();
}

bool AddCallNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.PickArray(draft), b = maker.PickArray(draft);
  if (!a || !b || draft.nesting() >= kMaxNesting) return false;
  const Shape shapes[] = {draft.shape(*a), draft.shape(*b)};
  const int roundings = std::max(draft[*a].roundings, draft[*b].roundings);
  const auto body = maker.RandomBody(draft, shapes, roundings, shapes[maker.Below(2)], "called");
  const auto id = draft.Add(Opcode::kCall, {*a, *b},
                            {maker.builder().MakeComputation(AttributeKey::kToApply, body.id)});
  if (id) TakeFrom(body, draft, *id);
  return id.has_value();
}

// As compilers make them: element by element, every parameter used, no calls.
bool AddFusionNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.PickArray(draft);
  if (!a || draft.nesting() > 0) return false;
  const Shape shape = draft.shape(*a);
  const DraftId b = maker.PickOrMake(draft, shape);
  const int roundings = std::max(draft[*a].roundings, draft[b].roundings);
  Draft inner = maker.Inner(draft);
  const DraftId x = inner.AddParameter(shape, roundings);
  const DraftId y = inner.AddParameter(shape, roundings);
  std::optional<DraftId> made;
  for (int i = 0; i < 6 && !made; ++i) made = AddElementwise(maker, inner, {x, y});
  if (!made) return false;
  DraftId root = *made;
  for (int i = 0; i < 3; ++i) {
    const bool alone = maker.OneIn(2) || inner.shape(root) != shape;
    const auto more = AddElementwise(
        maker, inner, alone ? std::vector{root} : std::vector{root, maker.OneIn(2) ? x : y});
    root = more.value_or(root);
  }
  const ProgramMaker::Body body{{}, inner[root].roundings, inner[root].bits};
  const Shape result = inner.shape(root);
  const hlo::ComputationId called = inner.Emit(maker.FreshName("fused"), root);
  hlo::ModuleBuilder& builder = maker.builder();
  const auto id = draft.Add(
      Opcode::kFusion, {*a, b},
      {builder.MakeEnum(AttributeKey::kFusionKind, static_cast<int32_t>(hlo::FusionKind::kLoop)),
       builder.MakeComputation(AttributeKey::kCalls, called)},
      &result);
  if (id) TakeFrom(body, draft, *id);
  return id.has_value();
}

bool AddBarrierNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.PickArray(draft), b = maker.PickArray(draft);
  if (!a || !b) return false;
  const auto both = draft.Add(Opcode::kTuple, {*a, *b});
  const auto barrier = both ? draft.Add(Opcode::kOptimizationBarrier, {*both}) : std::nullopt;
  if (!barrier) return false;
  return PickElement(maker, draft, *barrier, 0).has_value();
}

}  // namespace hloscope::debug
