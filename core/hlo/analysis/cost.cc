#include "core/hlo/analysis/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/base/work_count.h"
#include "core/hlo/analysis/by_id.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/cost_convolution.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::hlo {
namespace {

constexpr double kMultiplyAdd = 2;
constexpr double kPointerBytes = 8;

double Elements(const Shape& shape) {
  if (shape.IsTuple()) return shape.elements().empty() ? 0 : Elements(shape.elements().front());
  if (!shape.IsArray()) return 0;
  double count = 1;
  for (int64_t size : shape.dimensions()) count *= static_cast<double>(std::max<int64_t>(size, 0));
  return count;
}

double LeafElements(const Shape& shape) {
  double sum = 0;
  for (const hlo::Shape* leaf : shape.LeafShapes()) sum += Elements(*leaf);
  return sum;
}

struct Moved {
  double read = 0, written = 0;
};
// What a fusion moves, by the computation that it calls.
using FusedBytes = ById<ComputationId, Moved>;

// One instruction, and the costs of the computations it calls.
struct Context {
  const Module& module;
  InstructionId id;
  const std::vector<Cost>& sums;
  FusedBytes& fused;

  const Instruction& instruction() const { return module[id]; }
  const Shape& shape() const { return module.shape(id); }
  size_t operand_count() const { return module.operands(id).size(); }
  // The shape of an operand; an empty one where there are fewer.
  const Shape& operand(size_t i) const {
    static const Shape kNoShape = Shape::Token();
    const auto operands = module.operands(id);
    return i < operands.size() ? module.shape(operands[i]) : kNoShape;
  }
  const Cost& called(AttributeKey key) const {
    static const Cost kNothing;
    const ComputationId computation = module.GetComputation(instruction(), key);
    return computation.valid() ? sums[computation.index] : kNothing;
  }
};

void AddWork(Cost& cost, const Cost& once, double times) {
  cost.flops += once.flops * times;
  cost.transcendentals += once.transcendentals * times;
  cost.is_known &= once.is_known;
}

double WindowElements(const Context& c) {
  const Window* window = FindWindow(c.module, c.id);
  double count = 1;
  if (window == nullptr) return count;
  for (const WindowDimension& d : window->dimensions) count *= static_cast<double>(d.size);
  return count;
}

// How often the function of a reduce-window runs. A window that reaches over the whole dimension
// from everywhere is a reduction whose result is spread again (XLA counts it so).
double WindowReductions(const Context& c) {
  const double results = Elements(c.shape());
  const double plain = (WindowElements(c) - 1) * results;
  const Window* window = FindWindow(c.module, c.id);
  if (window == nullptr || !c.shape().IsArray()) return plain;
  int64_t wide = 0, padded = 0;
  double whole = 0;
  for (size_t i = 0; i < window->dimensions.size() && i < c.shape().rank(); ++i) {
    const WindowDimension& d = window->dimensions[i];
    wide += d.size != 1;
    padded += d.padding_low != 0 || d.padding_high != 0;
    const int64_t reach = c.shape().dimension(i) - 1;
    const bool reaches = d.size != 1 && d.padding_low == d.padding_high && d.padding_low == reach;
    if (reaches && reach > 0 && (d.size - 1) / 2 == reach && d.size % 2 == 1) {
      whole = static_cast<double>(c.shape().dimension(i));
    }
  }
  return wide == 1 && padded == 1 && whole > 0 ? results / whole + whole - 1 : plain;
}

double LogCeiling(double value) { return value <= 1 ? 0 : std::ceil(std::log2(value)); }

// --- Work ---------------------------------------------------------------------------------------
void WorkNone(const Context&, Cost&) {}
void WorkElements(const Context& c, Cost& cost) { cost.flops = Elements(c.shape()); }
void WorkLeaves(const Context& c, Cost& cost) { cost.flops = LeafElements(c.shape()); }
void WorkTranscendental(const Context& c, Cost& cost) {
  cost.transcendentals = Elements(c.shape());
}
void WorkTranscendentalLeaves(const Context& c, Cost& cost) {
  cost.transcendentals = LeafElements(c.shape());
}
void WorkUnknown(const Context&, Cost& cost) { cost.is_known = false; }

void WorkMap(const Context& c, Cost& cost) {
  AddWork(cost, c.called(AttributeKey::kToApply), Elements(c.shape()));
}

void WorkReduce(const Context& c, Cost& cost) {
  AddWork(cost, c.called(AttributeKey::kToApply), Elements(c.operand(0)) - Elements(c.shape()));
}

void WorkReduceWindow(const Context& c, Cost& cost) {
  AddWork(cost, c.called(AttributeKey::kToApply), WindowReductions(c));
}

void WorkSelectAndScatter(const Context& c, Cost& cost) {
  const double sources = Elements(c.operand(1));
  AddWork(cost, c.called(AttributeKey::kSelectComputation), sources * (WindowElements(c) - 1));
  AddWork(cost, c.called(AttributeKey::kScatterComputation), sources);
}

// Operands, indices, updates: as many updates as operands.
void WorkScatter(const Context& c, Cost& cost) {
  const size_t targets = c.operand_count() / 2;
  AddWork(cost, c.called(AttributeKey::kToApply), Elements(c.operand(targets + 1)));
}

void WorkDot(const Context& c, Cost& cost) {
  double width = 1;
  for (int64_t d : DotDimsOf(c.module, c.id).lhs.contracting) {
    const bool exists = d >= 0 && static_cast<size_t>(d) < c.operand(0).rank();
    if (exists) width *= static_cast<double>(c.operand(0).dimension(static_cast<size_t>(d)));
  }
  cost.flops = kMultiplyAdd * Elements(c.shape()) * width;
}

void WorkConvolution(const Context& c, Cost& cost) {
  cost.flops = kMultiplyAdd * ConvolutionProducts(c.module, c.id);
}

void WorkFft(const Context& c, Cost& cost) {
  constexpr double kProductsOfComplex = 4;
  double steps = 1;
  for (int64_t length : c.module.GetInts(c.instruction(), AttributeKey::kFftLength)) {
    steps *= length <= 0 ? 0 : std::floor(std::log2(static_cast<double>(length)));
  }
  cost.flops = kMultiplyAdd * kProductsOfComplex * steps * Elements(c.operand(0));
}

double LastDimension(const Shape& shape) {
  return shape.rank() == 0 ? 0 : static_cast<double>(shape.dimension(shape.rank() - 1));
}

void WorkCholesky(const Context& c, Cost& cost) {
  cost.flops = std::floor(LastDimension(c.operand(0)) * Elements(c.operand(0)) / 3);
}

void WorkTriangularSolve(const Context& c, Cost& cost) {
  cost.flops = kMultiplyAdd * LastDimension(c.operand(0)) * Elements(c.operand(1));
}

void WorkSort(const Context& c, Cost& cost) {
  const double count = Elements(c.operand(0));
  cost.flops = count * LogCeiling(count);
}

void WorkCalled(const Context& c, Cost& cost) {
  for (ComputationId called : c.module.CalledComputations(c.instruction())) {
    AddWork(cost, c.sums[called.index], 1);
  }
}

void WorkBranches(const Context& c, Cost& cost) {
  for (ComputationId called : c.module.CalledComputations(c.instruction())) {
    const Cost& branch = c.sums[called.index];
    cost.flops = std::max(cost.flops, branch.flops);
    cost.transcendentals = std::max(cost.transcendentals, branch.transcendentals);
    cost.is_known &= branch.is_known;
  }
}

// --- Bytes --------------------------------------------------------------------------------------
void BytesNone(const Context&, Cost&) {}
void BytesResult(const Context& c, Cost& cost) { cost.bytes_written = ByteCount(c.shape()); }
void BytesOperands(const Context& c, Cost& cost) {
  for (size_t i = 0; i < c.operand_count(); ++i) cost.bytes_read += ByteCount(c.operand(i));
}
void BytesPlain(const Context& c, Cost& cost) {
  BytesOperands(c, cost);
  cost.bytes_written = LeafByteCount(c.shape());
}
void BytesFirstResult(const Context& c, Cost& cost) {
  BytesOperands(c, cost);
  const Shape& result = c.shape();
  const bool is_tuple = result.IsTuple() && !result.elements().empty();
  cost.bytes_written = ByteCount(is_tuple ? result.elements().front() : result);
}
// The order of an array's dimensions in memory, the fastest first.
std::vector<int64_t> MinorToMajor(const Shape& shape) {
  return shape.has_layout() ? shape.layout().minor_to_major
                            : Layout::Default(shape.rank()).minor_to_major;
}
// A transpose whose result lies in memory as its operand does moves nothing.
void BytesTranspose(const Context& c, Cost& cost) {
  const auto order = c.module.GetInts(c.instruction(), AttributeKey::kDimensions);
  const std::vector<int64_t> from = MinorToMajor(c.operand(0)), to = MinorToMajor(c.shape());
  bool moves = from.size() != to.size();
  for (size_t i = 0; i < to.size() && !moves; ++i) {
    const bool exists = to[i] >= 0 && static_cast<size_t>(to[i]) < order.size();
    moves = !exists || from[i] != order[static_cast<size_t>(to[i])];
  }
  if (moves) BytesPlain(c, cost);
}
void BytesTwiceResult(const Context& c, Cost& cost) {
  cost.bytes_read = cost.bytes_written = ByteCount(c.shape());
}
void BytesDynamicSlice(const Context& c, Cost& cost) {
  BytesTwiceResult(c, cost);
  cost.bytes_read += ByteCount(c.operand(1));
}
// In place: what lies outside the update is not touched.
void BytesDynamicUpdateSlice(const Context& c, Cost& cost) {
  cost.bytes_written = ByteCount(c.operand(1));
  cost.bytes_read = cost.bytes_written + ByteCount(c.operand(2));
}
void BytesGather(const Context& c, Cost& cost) { BytesDynamicSlice(c, cost); }
// Reads the updates and what they meet, writes the sums.
void BytesScatter(const Context& c, Cost& cost) {
  const size_t targets = c.operand_count() / 2;
  for (size_t i = targets + 1; i < c.operand_count(); ++i) {
    cost.bytes_written += ByteCount(c.operand(i));
  }
  cost.bytes_read = 2 * cost.bytes_written + ByteCount(c.operand(targets));
}
// Of a triangle.
void BytesHalfOfFirst(const Context& c, Cost& cost) {
  const bool is_solve = c.operand_count() > 1;
  cost.bytes_read = ByteCount(c.operand(0)) / 2 + (is_solve ? ByteCount(c.operand(1)) : 0);
  cost.bytes_written = is_solve ? ByteCount(c.shape()) : ByteCount(c.operand(0)) / 2;
}
void BytesCalled(const Context& c, Cost& cost) {
  for (ComputationId called : c.module.CalledComputations(c.instruction())) {
    cost.bytes_read += c.sums[called.index].bytes_read;
    cost.bytes_written += c.sums[called.index].bytes_written;
  }
}
void BytesBranches(const Context& c, Cost& cost) {
  double most = -1;
  for (ComputationId called : c.module.CalledComputations(c.instruction())) {
    const Cost& branch = c.sums[called.index];
    if (branch.bytes() <= most) continue;
    most = branch.bytes();
    cost.bytes_read = branch.bytes_read;
    cost.bytes_written = branch.bytes_written;
  }
}

// What a user reads of a parameter in a fusion; `shares` where it can share one read of the whole
// with others.
double ReadBy(const Module& m, InstructionId user, InstructionId parameter, bool& shares) {
  const auto operands = m.operands(user);
  const bool is_first = !operands.empty() && operands.front() == parameter;
  const Opcode opcode = m[user].opcode;
  if (opcode == Opcode::kSlice || (opcode == Opcode::kDynamicSlice && is_first)) {
    return ByteCount(m.shape(user));
  }
  if (opcode == Opcode::kDynamicUpdateSlice && is_first) return 0;  // updated in place
  if (opcode == Opcode::kBroadcast || opcode == Opcode::kReshape) {
    return ByteCount(m.shape(parameter));
  }
  shares = true;
  return 0;
}

// Parameters by what their users read, the result by what is written; what stays inside moves
// nothing.
Moved MovedByFusionOf(const Module& m, const Computation& body) {
  CountWork(body.instruction_count);
  Moved moved;
  std::vector<double> read(body.instruction_count, 0);
  std::vector<bool> shares(body.instruction_count, false);
  for (uint32_t i = 0; i < body.instruction_count; ++i) {
    const InstructionId user(body.first_instruction + i);
    InstructionId last;
    for (InstructionId operand : m.operands(user)) {
      if (operand == last || operand.index < body.first_instruction) continue;
      last = operand;
      bool is_shared = false;
      const uint32_t k = operand.index - body.first_instruction;
      if (k >= body.instruction_count) continue;
      read[k] += ReadBy(m, user, operand, is_shared);
      shares[k] = shares[k] || is_shared;
    }
  }
  for (uint32_t i = 0; i < body.instruction_count; ++i) {
    const InstructionId id(body.first_instruction + i);
    if (m[id].opcode != Opcode::kParameter) continue;
    moved.read += read[i] + (shares[i] ? LeafByteCount(m.shape(id)) : 0);
  }
  auto written = [&](InstructionId id) {
    const bool in_place = m[id].opcode == Opcode::kDynamicUpdateSlice && m.operands(id).size() > 1;
    return LeafByteCount(in_place ? m.shape(m.operands(id)[1]) : m.shape(id));
  };
  if (!body.root.valid()) return moved;
  if (m[body.root].opcode != Opcode::kTuple) {
    moved.written = written(body.root);
    return moved;
  }
  for (InstructionId id : m.operands(body.root)) moved.written += written(id);
  return moved;
}

void BytesFusion(const Context& c, Cost& cost) {
  const ComputationId body = c.module.GetComputation(c.instruction(), AttributeKey::kCalls);
  if (!body.valid()) return BytesPlain(c, cost);
  const Moved moved = c.fused.Get(body, [&] { return MovedByFusionOf(c.module, c.module[body]); });
  cost.bytes_read = moved.read;
  cost.bytes_written = moved.written;
}

struct Rule {
  void (*work)(const Context&, Cost&) = nullptr;
  void (*bytes)(const Context&, Cost&) = nullptr;
};
constexpr OpcodeTable<Rule> kRules = {
#define COST_RULE(name, work, bytes) {Opcode::name, {Work##work, Bytes##bytes}},
#include "core/hlo/analysis/cost_rules.def"
#undef COST_RULE
};

Rule RuleOf(Opcode opcode) {
  if (const Rule& rule = kRules[opcode]; rule.work != nullptr) return rule;
  return {Info(opcode).category == Category::kElementwise ? WorkElements : WorkNone, BytesPlain};
}

}  // namespace

bool IsTranscendental(Opcode opcode) { return kRules[opcode].work == &WorkTranscendental; }

Cost& Cost::operator+=(const Cost& other) {
  AddWork(*this, other, 1);
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  return *this;
}

int64_t WholeBytes(double bytes) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  return bytes < static_cast<double>(kMost) ? static_cast<int64_t>(bytes) : kMost;
}

double ByteCount(const Shape& shape) {
  if (shape.IsTuple()) return kPointerBytes * static_cast<double>(shape.elements().size());
  if (shape.IsBuffer() && !shape.elements().empty()) return ByteCount(shape.elements().front());
  if (!shape.IsArray()) return 0;
  const int64_t bits = shape.has_layout() ? shape.layout().element_size_in_bits() : 0;
  const double bytes = StorageBytes(shape.element_type());
  return std::ceil(Elements(shape) * (bits > 0 ? static_cast<double>(bits) / 8 : bytes));
}

double LeafByteCount(const Shape& shape) {
  if (!shape.IsTuple()) return ByteCount(shape);
  double sum = 0;
  for (const hlo::Shape* leaf : shape.LeafShapes()) sum += ByteCount(*leaf);
  return sum;
}

CostModel::CostModel(const Module& module)
    : costs_(module.instructions().size()), sums_(module.computations().size()) {
  FusedBytes fused;
  for (ComputationId c : CallGraphOf(module).callees_first()) {
    const Computation& computation = module[c];
    Cost& sum = sums_[c.index];
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const InstructionId id(computation.first_instruction + i);
      const Rule rule = RuleOf(module[id].opcode);
      const Context context{module, id, sums_, fused};
      rule.work(context, costs_[id.index]);
      rule.bytes(context, costs_[id.index]);
      sum += costs_[id.index];
    }
  }
}

}  // namespace hloscope::hlo
