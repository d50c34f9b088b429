// Random choices, fresh values and the growth of random programs.
#include "core/debug/reduce/hunt/program_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/debug/reduce/hunt/nodes.h"
#include "core/eval/numbers/precise.h"
#include "core/hlo/sharding.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;

constexpr size_t kMaxParameters = 8;

struct WeightedType {
  ElementType type;
  uint64_t weight;
};
constexpr WeightedType kTypeWeights[] = {
#define TYPE_WEIGHT(type, weight) {ElementType::type, weight},
#include "core/debug/reduce/hunt/type_weights.def"
#undef TYPE_WEIGHT
};

struct NodeRow {
  bool (*add)(ProgramMaker&, Draft&);
  uint64_t weight;
};
constexpr NodeRow kNodeRows[] = {
#define NODE(function, weight) {Add##function##Node, weight},
#include "core/debug/reduce/hunt/nodes.def"
#undef NODE
};

template <typename Row, size_t kCount>
const Row& Weighted(const Row (&rows)[kCount], uint64_t draw) {
  uint64_t total = 0;
  for (const Row& row : rows) total += row.weight;
  draw %= total;
  for (const Row& row : rows) {
    if (draw < row.weight) return row;
    draw -= row.weight;
  }
  return rows[0];
}

constexpr double kInf = std::numeric_limits<double>::infinity();
// Denormals are left out: XLA:CPU flushes them by design. So are numbers whose sums overflow or
// cancel in some orders.
constexpr double kEdges[] = {0,   -0.0, 1,    -1,    0.5,
                             2,   3,    kInf, -kInf, std::numeric_limits<double>::quiet_NaN(),
                             100, -7,   1e-3};

// Row-major elements of that shape, each rounded to its type; NaN of an integer is 0.
hlo::Literal LiteralOf(const Shape& shape, std::span<const double> values) {
  Shape wide = shape;
  wide.set_element_type(ElementType::kF64);
  return eval::ConvertLiteral(hlo::Literal::Of<double>(wide, values), shape);
}

}  // namespace

ProgramMaker::ProgramMaker(uint64_t seed) : random_(seed) { ChooseTypes(); }

// A few types and sizes, so that values meet that fit one another.
void ProgramMaker::ChooseTypes() {
  for (uint64_t i = 0, count = 2 + Below(3); i < count; ++i) {
    types_.push_back(Weighted(kTypeWeights, random_.Next()).type);
  }
  constexpr int64_t kSizes[] = {1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 31};
  for (int i = 0; i < 3; ++i) sizes_.push_back(OneOf(kSizes));
  if (OneIn(8)) sizes_.push_back(0);
  if (OneIn(10)) replicas_ = OneIn(2) ? 2 : 4;
  if (replicas_ == 1 && OneIn(12)) partitions_ = OneIn(2) ? 2 : 4;
}

int64_t ProgramMaker::AnySize() { return sizes_[Below(sizes_.size())]; }

std::vector<int64_t> ProgramMaker::AnyDimensions(size_t rank) {
  constexpr int64_t kMax = 512;
  std::vector<int64_t> dimensions(rank);
  int64_t elements = 1;
  for (int64_t& dimension : dimensions) {
    dimension = AnySize();
    if (elements * dimension > kMax) dimension = 1;
    elements *= std::max<int64_t>(dimension, 1);
  }
  return dimensions;
}

hlo::Literal ProgramMaker::AnyLiteral(const Shape& shape) {
  const auto count = static_cast<size_t>(shape.ElementCount().value_or(0));
  const ElementType type = shape.element_type();
  if (OneIn(3)) {
    const bool is_uniform = OneIn(2);
    std::vector<double> values(count);
    const double first = OneOf(kEdges);
    for (double& value : values) value = is_uniform ? first : OneOf(kEdges);
    if (!hlo::IsInteger(type) && type != ElementType::kPred) return LiteralOf(shape, values);
    for (double& value : values) value = std::isfinite(value) ? std::clamp(value, -2.0, 3.0) : 0;
    return LiteralOf(shape, values);
  }
  std::vector<std::byte> bytes(count * static_cast<size_t>(hlo::StorageBytes(type)));
  eval::FillRandom(type, random_.Next(), bytes.data(), static_cast<int64_t>(count));
  return hlo::Literal::Dense(shape, std::move(bytes));
}

std::optional<DraftId> ProgramMaker::Pick(const Draft& draft, const Fits& fits) {
  std::vector<DraftId> fitting;
  for (DraftId id = 0; id < draft.size(); ++id) {
    if (!draft[id].hidden && fits(draft[id])) fitting.push_back(id);
  }
  if (fitting.empty()) return std::nullopt;
  // What came last is liked best, so that values are made of one another.
  const size_t from = OneIn(2) ? fitting.size() * 2 / 3 : 0;
  return fitting[from + Below(fitting.size() - from)];
}

std::optional<DraftId> ProgramMaker::PickArray(const Draft& draft) {
  return Pick(draft, [](const DraftNode& node) { return node.shape.IsArray(); });
}

DraftId ProgramMaker::PickOrMake(Draft& draft, const Shape& shape, int most_roundings) {
  const auto found = Pick(draft, [&](const DraftNode& node) {
    return node.shape == shape && node.roundings <= most_roundings;
  });
  return found && !OneIn(6) ? *found : Fresh(draft, shape);
}

DraftId ProgramMaker::Fresh(Draft& draft, const Shape& shape) {
  const bool takes_parameter = draft.nesting() == 0 && draft.parameter_count() < kMaxParameters;
  if (takes_parameter && !OneIn(4)) return draft.AddParameter(shape);
  if (!shape.dimensions().empty() && OneIn(2)) {
    const DraftId scalar = draft.AddConstant(AnyLiteral(Shape::Scalar(shape.element_type())));
    if (const auto id = draft.Add(Opcode::kBroadcast, {scalar},
                                  {builder_.MakeInts(AttributeKey::kDimensions, {})}, &shape)) {
      return *id;
    }
  }
  return draft.AddConstant(AnyLiteral(shape));
}

DraftId ProgramMaker::Scalar(Draft& draft, ElementType type, double value) {
  return Fill(draft, Shape::Scalar(type), value);
}

DraftId ProgramMaker::Fill(Draft& draft, const Shape& shape, double value) {
  const std::vector<double> values(static_cast<size_t>(shape.ElementCount().value_or(0)), value);
  return draft.AddConstant(LiteralOf(shape, values));
}

std::string ProgramMaker::FreshName(std::string_view stem) {
  return fmt::format("{}{}", stem, ++next_name_);
}

hlo::ComputationId ProgramMaker::ScalarComputation(Opcode opcode, ElementType type) {
  Draft draft(builder_, programs_, 1);
  const DraftId a = draft.AddParameter(Shape::Scalar(type));
  const DraftId b = draft.AddParameter(Shape::Scalar(type));
  const auto root = draft.Add(opcode, {a, b});
  return draft.Emit(FreshName("scalar"), root.value_or(a));
}

ProgramMaker::Body ProgramMaker::RandomBody(const Draft& caller, std::span<const Shape> parameters,
                                            int roundings, const Shape& result,
                                            std::string_view name) {
  Draft draft = Inner(caller);
  for (const Shape& parameter : parameters) {
    const DraftId whole = draft.AddParameter(parameter, roundings);
    for (size_t i = 0; parameter.IsTuple() && i < parameter.elements().size(); ++i) {
      (void)draft.Add(Opcode::kGetTupleElement, {whole},
                      {builder_.MakeInt(AttributeKey::kIndex, static_cast<int64_t>(i))});
    }
  }
  Grow(draft, 2 + Below(5));
  const DraftId root = PickOrMake(draft, result);
  const Body body{{}, draft[root].roundings, draft[root].bits};
  const hlo::ComputationId id = draft.Emit(FreshName(name), root);
  return {id, body.roundings, body.bits};
}

void ProgramMaker::Grow(Draft& draft, size_t nodes) {
  const size_t until = draft.size() + nodes;
  for (size_t tries = 0; draft.size() < until && tries < nodes * 6; ++tries) {
    (void)Weighted(kNodeRows, random_.Next()).add(*this, draft);
  }
}

// What nothing uses, and some of what something does.
DraftId ProgramMaker::RootOf(Draft& draft) {
  std::vector<bool> used(draft.size());
  for (DraftId id = 0; id < draft.size(); ++id) {
    for (const DraftId operand : draft[id].operands) used[operand] = true;
  }
  std::vector<DraftId> results;
  for (DraftId id = 0; id < draft.size(); ++id) {
    const Opcode opcode = draft[id].opcode;
    const bool is_source = opcode == Opcode::kParameter || opcode == Opcode::kConstant;
    if (is_source || draft[id].hidden || !draft.shape(id).IsArray()) continue;
    if (!used[id] || OneIn(4)) results.push_back(id);
  }
  if (results.empty()) results.push_back(PickOrMake(draft, Shape::Scalar(types_[0])));
  return *draft.Add(Opcode::kTuple, results);
}

// Some values are cut along a dimension, into parts of equal size or not, or are on every device;
// of the others the platform chooses.
void ProgramMaker::Shard(Draft& draft) {
  for (DraftId id = 0; partitions_ > 1 && id < draft.size(); ++id) {
    const Shape& shape = draft.shape(id);
    if (!shape.IsArray() || shape.rank() == 0 || draft[id].hidden || !OneIn(3)) continue;
    hlo::Sharding sharding;
    if (!OneIn(4)) {
      sharding.kind = hlo::ShardingKind::kTiled;
      sharding.tiles.dimensions.assign(shape.rank(), 1);
      sharding.tiles.dimensions[Below(shape.rank())] = partitions_;
      sharding.tiles.devices.resize(static_cast<size_t>(partitions_));
      std::iota(sharding.tiles.devices.begin(), sharding.tiles.devices.end(), 0);
    }
    draft.Annotate(id, builder_.Make(AttributeKey::kSharding, std::move(sharding)));
  }
}

std::shared_ptr<const hlo::Module> ProgramMaker::Make() {
  builder_.header().name = builder_.Intern("random_program");
  builder_.header().replica_count = replicas_;
  builder_.header().num_partitions = partitions_;
  Draft entry(builder_, programs_, 0);
  for (const ElementType type : types_) {
    entry.AddParameter(Shape::Array(type, AnyDimensions(Below(4))));
  }
  Grow(entry, 8 + Below(20));
  const DraftId root = RootOf(entry);
  Shard(entry);
  builder_.SetEntry(entry.Emit("main", root));
  return builder_.Build();
}

std::shared_ptr<const hlo::Module> RandomProgram(uint64_t seed, uint64_t number) {
  // Neighbours have nothing in common.
  eval::RandomBits mix(seed * 0x9e3779b97f4a7c15u + number);
  (void)mix.Next();
  return ProgramMaker(mix.Next()).Make();
}

}  // namespace hloscope::debug
